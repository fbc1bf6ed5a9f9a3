package history

import (
	"bytes"
	"encoding/hex"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Golden files are histories of the past. A difference means that this release cannot read stored histories, or that
// other nodes cannot read what it writes. Use -update for new kinds and for fields added to samples, never to make
// this test pass.
func TestGolden(t *testing.T) {
	for _, e := range samples {
		kind := e.Body.Kind()
		t.Run(kind.String(), func(t *testing.T) {
			stored := golden(t, kind.String(), Encode(nil, e))
			got, err := Decode(7, stored)
			if err != nil {
				t.Fatal(err)
			}
			want := e
			want.ID = 7
			if !reflect.DeepEqual(got, want) {
				t.Errorf("decoded %+v, want %+v", got.Body, want.Body)
			}
		})
	}
}

// A message that others of its turn follow says so.
func TestGoldenMore(t *testing.T) {
	want := Event{ID: 7, At: 1767322800000006, More: true, Body: &EventReceived{Name: "approval"}}
	got, err := Decode(7, golden(t, "More", Encode(nil, want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

// A message with which code learns of a newer version says so.
func TestGoldenNewer(t *testing.T) {
	want := Event{ID: 7, At: 1767322800000006, Newer: true, Body: &EventReceived{Name: "approval"}}
	got, err := Decode(7, golden(t, "Newer", Encode(nil, want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

// A message without a header can have an anchor.
func TestGoldenAnchor(t *testing.T) {
	want := Event{
		ID: 7, At: 1767322800000005, Anchor: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01 k=v", Body: &TimerFired{Timer: 5},
	}
	got, err := Decode(7, golden(t, "Anchor", Encode(nil, want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

func TestGoldenOutcome(t *testing.T) {
	want := Outcome{Output: []byte(`"out"`), Failure: &sampleFailure}
	got, err := DecodeOutcome(golden(t, "Outcome", EncodeOutcome(want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

func TestGoldenRetried(t *testing.T) {
	want := Retried{Failure: sampleFailure, Attempts: sampleAttempts}
	got, err := DecodeRetried(golden(t, "Retried", EncodeRetried(want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v", got, err)
	}
	want.Span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	got, err = DecodeRetried(golden(t, "RetriedSpan", EncodeRetried(want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v", got, err)
	}
	// These were stored by earlier releases.
	got, err = DecodeRetried(golden(t, "Failure", EncodeFailure(sampleFailure)))
	if err != nil || !reflect.DeepEqual(got, Retried{Failure: sampleFailure}) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

func TestGoldenFailure(t *testing.T) {
	got, err := DecodeFailure(golden(t, "Failure", EncodeFailure(sampleFailure)))
	if err != nil || !reflect.DeepEqual(got, sampleFailure) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

func TestGoldenQuestion(t *testing.T) {
	want := Question{Name: "cart", Input: []byte("7"), Limit: 2_000_000, EvenBlocked: true, Rebuild: true, After: "r-1", Open: &Opening{
		Execution: 3, Event: 17, DropLater: true, NewInput: true, Input: []byte("[]"), Reason: "wrong price", RequestID: "r-6", ForkID: "order-2",
		ForkKey: [16]byte{2, 15: 3},
	}}
	got, err := DecodeQuestion(golden(t, "Question", EncodeQuestion(want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

func TestGoldenAnswer(t *testing.T) {
	want := Answer{
		Outcome: AnswerBlocked, Output: []byte(`"out"`), Failure: &sampleFailure, Message: "why", Names: [][]byte{[]byte("cart"), []byte("stack")},
		Blocked: &Held{Reason: "panic", Message: "boom", Count: 3, Since: 1767322800000001, RetryAt: 1767322800000002},
		Opened:  &Opened{Key: [16]byte{2, 15: 3}, Execution: 4},
	}
	got, err := DecodeAnswer(golden(t, "Answer", EncodeAnswer(want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

func TestGoldenUpdateState(t *testing.T) {
	want := UpdateState{
		Outcome: UpdateUnknown, Name: "add", ID: "u-1", Input: []byte("7"), Sum: []byte{1, 2}, At: 1767322800000001, Ended: 1767322800000002,
		Output: []byte(`"out"`), Failure: &sampleFailure, Names: [][]byte{[]byte("put")},
	}
	got, err := DecodeUpdateState(golden(t, "UpdateState", EncodeUpdateState(want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("decoded %+v, %v", got, err)
	}
}

// A golden file without a kind is a kind that this release forgot how to read.
func TestGoldenFilesAreAllKnown(t *testing.T) {
	files, err := os.ReadDir(goldenDir)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(kinds) + 11; len(files) != want { // Outcome, Failure, Retried, RetriedSpan, More, Newer, Anchor, Sealed, Question, Answer, UpdateState
		t.Errorf("%d golden files, want %d", len(files), want)
	}
}

const goldenDir = "testdata/golden"

// golden returns the bytes of a golden file after comparing them with data.
func golden(t *testing.T, name string, data []byte) []byte {
	t.Helper()
	path := filepath.Join(goldenDir, name+".hex")
	if *update {
		if err := os.WriteFile(path, toHex(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run the test with -update for a new kind", err)
	}
	stored, err := hex.DecodeString(strings.Join(strings.Fields(string(text)), ""))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(stored, data) {
		t.Errorf("%s is now encoded as\n%sinstead of\n%s", name, toHex(data), text)
	}
	return stored
}

func toHex(data []byte) []byte {
	const perLine = 32
	var out []byte
	for len(data) > 0 {
		n := min(perLine, len(data))
		out = hex.AppendEncode(out, data[:n])
		out = append(out, '\n')
		data = data[n:]
	}
	return out
}
