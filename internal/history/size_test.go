package history

import (
	"encoding/hex"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The size of an event is about the length of its encoding. The exact numbers are frozen: code of stored histories was
// judged by them.
func TestSize(t *testing.T) {
	want := []int64{324, 32, 125, 311, 32, 55, 34, 222, 48, 228, 37, 47, 32, 101, 131, 32, 32, 32, 123, 32, 132, 58, 51, 229, 32, 222, 223, 47, 243, 32, 32, 32, 32, 32}
	for i, e := range samples {
		size, stored := Size(e.Body), int64(len(Encode(nil, bare(e)))) // headers count nothing
		if size != want[i] {
			t.Errorf("%v counts for %d, want %d", e.Body.Kind(), size, want[i])
		}
		if !end(e.Body.Kind()) && (size < stored/2 || size > 2*stored+frame) {
			t.Errorf("%v counts for %d and is stored as %d bytes", e.Body.Kind(), size, stored)
		}
	}
}

// end reports whether events of the kind are the last ones, so that their size never counts.
func end(k Kind) bool { return k >= KindExecutionCompleted }

// An event has the same size when it is made and when it is read back.
func TestSizeOutlivesTheStore(t *testing.T) {
	drawn := events()
	rapid.Check(t, func(t *rapid.T) {
		e := drawn.Draw(t, "event")
		stored, err := Decode(1, Encode(nil, e))
		if err != nil {
			t.Fatal(err)
		}
		if made, read := Size(e.Body), Size(stored.Body); made != read {
			t.Fatalf("%+v counts for %d, and for %d when it is read", e.Body, made, read)
		}
	})
}

// A start event from before there was a limit on bytes has none.
func TestEarlierStartEvent(t *testing.T) {
	text, err := os.ReadFile("testdata/earlier/ExecutionStarted.1.hex")
	if err != nil {
		t.Fatal(err)
	}
	data, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	e, err := Decode(1, data)
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{MaxPayload: 2 << 20, MaxEvents: 50_000, Flags: 3}
	if got := e.Body.(*ExecutionStarted).Settings; got != want {
		t.Errorf("settings %+v, want %+v", got, want)
	}
}
