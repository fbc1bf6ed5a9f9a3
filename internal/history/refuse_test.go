package history

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestDecodeRefuses(t *testing.T) {
	timer := byte(KindTimerFired)
	tests := []struct {
		what string
		data []byte
		want error
	}{
		{"nothing", nil, ErrCorrupt},
		{"no kind", []byte{1}, ErrCorrupt},
		{"format 0", []byte{0, timer}, ErrCorrupt},
		{"newer format", []byte{formatVersion + 1, timer}, ErrNewer},
		{"newer format, unknown kind, garbage", []byte{255, 255, 0xff}, ErrNewer},
		{"kind 0", []byte{1, 0}, ErrNewer},
		{"unknown kind", []byte{1, 255}, ErrNewer},
		{"unknown field", []byte{1, timer, 3 << 1, 1}, ErrNewer},
		{"unknown field past the limit", []byte{1, timer, 100 << 1 & 0x7f, 1, 0x80 | 100<<1&0x7f, 1, 1}, ErrNewer},
		{"unknown field of bytes", []byte{1, timer, 9<<1 | 1, 2, 'a', 'b'}, ErrNewer},
		{"unknown field in a nested record", []byte{1, byte(KindExecutionFailed), 2<<1 | 1, 2, 20 << 1, 1}, ErrNewer},
		{"unknown field in a cause", []byte{1, byte(KindExecutionFailed), 2<<1 | 1, 5, 6<<1 | 1, 3, 2, 20 << 1, 1}, ErrNewer},
		{"field 0", []byte{1, timer, 0, 1}, ErrCorrupt},
		{"field twice", []byte{1, timer, 2 << 1, 1, 2 << 1, 1}, ErrCorrupt},
		{"tag without value", []byte{1, timer, 2 << 1}, ErrCorrupt},
		{"varint without end", []byte{1, timer, 2 << 1, 0x80}, ErrCorrupt},
		{"varint of 11 bytes", append([]byte{1, timer, 2 << 1}, bytes.Repeat([]byte{0xff}, 11)...), ErrCorrupt},
		{"bytes where a number belongs", []byte{1, timer, 2<<1 | 1, 1, 'x'}, ErrCorrupt},
		{"number where bytes belong", []byte{1, byte(KindExecutionCompleted), 2 << 1, 1}, ErrCorrupt},
		{"longer than the record", []byte{1, byte(KindExecutionCompleted), 2<<1 | 1, 9, 'x'}, ErrCorrupt},
		{"length near the limit of 64 bits", []byte{1, byte(KindExecutionCompleted), 2<<1 | 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, ErrCorrupt},
		{"boolean 2", []byte{1, byte(KindChildStarted), 6 << 1, 2}, ErrCorrupt},
		{"UUID of 15 bytes", append([]byte{1, byte(KindChildStarted), 5<<1 | 1, 15}, make([]byte, 15)...), ErrCorrupt},
		{"UUID of 17 bytes", append([]byte{1, byte(KindChildStarted), 5<<1 | 1, 17}, make([]byte, 17)...), ErrCorrupt},
		{"list cut short", []byte{1, byte(KindExecutionStarted), 8<<1 | 1, 2, 5, 'x'}, ErrCorrupt},
		{"corrupt nested record", []byte{1, byte(KindExecutionFailed), 2<<1 | 1, 1, 0}, ErrCorrupt},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			_, err := Decode(7, tt.data)
			if !errors.Is(err, tt.want) || errors.Is(err, ErrNewer) && errors.Is(err, ErrCorrupt) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if !strings.Contains(err.Error(), "event 7") {
				t.Errorf("the error does not name the event: %v", err)
			}
		})
	}
}

func TestDecodeOutcomeRefuses(t *testing.T) {
	for want, all := range map[error][][]byte{
		ErrCorrupt: {nil, {0}, {1, 0}, {1, 1<<1 | 1}, {1, 1<<1 | 1, 9}},
		ErrNewer:   {{2}, {2, 0xff}, {1, 20 << 1, 1}},
	} {
		for _, data := range all {
			if _, err := DecodeOutcome(data); !errors.Is(err, want) {
				t.Errorf("outcome % x: %v, want %v", data, err, want)
			}
			if _, err := DecodeFailure(data); !errors.Is(err, want) {
				t.Errorf("failure % x: %v, want %v", data, err, want)
			}
		}
	}
}

// Decoding an event that was cut off or has a flipped bit never panics. It returns one of the two errors.
func TestDamagedEvents(t *testing.T) {
	check := func(kind Kind, data []byte) {
		t.Helper()
		if _, err := Decode(1, data); err != nil && !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNewer) {
			t.Errorf("%v: % x: %v", kind, data, err)
		}
	}
	for _, e := range samples {
		kind, data := e.Body.Kind(), Encode(nil, e)
		for n := range data {
			check(kind, data[:n])
			for bit := range 8 {
				flipped := slices.Clone(data)
				flipped[n] ^= 1 << bit
				check(kind, flipped)
			}
		}
	}
}

func nest(levels int) Failure {
	f := Failure{Message: "innermost"}
	for range levels - 1 {
		f = Failure{Causes: []Failure{f}}
	}
	return f
}

// Package failure stores at most 20 levels; hostile bytes may have any number.
func TestNestingIsBounded(t *testing.T) {
	if _, err := Decode(1, Encode(nil, Event{Body: &ChildFailed{Failure: nest(20)}})); err != nil {
		t.Errorf("20 levels: %v", err)
	}
	if _, err := DecodeOutcome(EncodeOutcome(Outcome{Failure: new(nest(20))})); err != nil {
		t.Errorf("20 levels in an outcome: %v", err)
	}
	if _, err := DecodeFailure(EncodeFailure(nest(1000))); !errors.Is(err, ErrCorrupt) {
		t.Errorf("1000 levels: %v", err)
	}
}

// Decoded events share the bytes that they came from, but appending to one must not
// write over its neighbour.
func TestDecodedBytesAreClipped(t *testing.T) {
	data := Encode(nil, Event{Body: &ExecutionStarted{Input: []byte("input"), Seen: [][]byte{[]byte("a"), []byte("b")}, RequestID: "r"}})
	before := slices.Clone(data)
	e, err := Decode(1, data)
	if err != nil {
		t.Fatal(err)
	}
	started := e.Body.(*ExecutionStarted)
	_ = append(started.Input, '!')
	_ = append(started.Seen[0], '!')
	if !bytes.Equal(data, before) {
		t.Error("appending to a field changed the event's bytes")
	}
}
