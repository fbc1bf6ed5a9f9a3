package moving_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/moving"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/provider"
)

var update = flag.Bool("update", false, "write the golden file of the newest format")

func TestMain(m *testing.M) { leaktest.Main(m) }

const golden = "testdata/format2.jsonl"

// full has a value in each field of a page.
func full() moving.Page {
	key := provider.UUID{1, 2, 3, 4, 5, 6, 0x87, 8, 0x89, 10, 11, 12, 13, 14, 15, 16}
	ref := provider.TaskRef{Key: key, Execution: 2, EventID: 3}
	return moving.Page{
		ID: "order-42", Key: key, Number: 0, Last: true, At: 99, View: []string{"execution 1, event 1: ExecutionStarted"},
		Parcel: provider.Parcel{
			Head: &provider.MovedHead{
				Instance: provider.Instance{
					ID: "order-42", Key: key, Name: "checkout", CodeVersion: "2", Status: provider.StatusRunning, Execution: 2, Version: key,
					HistoryLength: 4, HistoryBytes: 5, EngineLevel: 6, RequestID: "r",
					Parent:  provider.Parent{Key: key, ID: "p", Execution: 1, EventID: 2, Close: provider.CloseAbandon},
					Blocked: &provider.Blocked{Reason: "panic", Message: "any \xff bytes", Count: 1, Since: 2, RetryAt: 3}, CustomStatus: []byte("s"), Result: []byte("r"),
					Excerpt: []byte("e"), FailureGroup: "g",
					Attributes: []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Text: "t", Number: 7}},
					CreatedAt:  1, UpdatedAt: 2, EndedAt: 3, ReadyAt: 4, InboxMessages: 5, Deliveries: 6,
				},
				Replaced: true, NotBefore: 1, NextMessage: 2, ReadyAt: 3,
				Executions: []provider.MovedExecution{{Execution: 1, Status: provider.StatusReset, Length: 2, EndedAt: 3}},
				Listener:   &provider.Listener{Key: key, Message: provider.NewMessage{Kind: 1, Execution: 2, EventID: 3, Delay: 4, Payload: []byte("l"), EngineLevel: 5}},
				Acts:       [][]byte{[]byte("0123456789abcdef")}, Requests: []string{"q"},
			},
			History:  []provider.MovedEvents{{Execution: 1, First: 2, Events: [][]byte{[]byte("event")}}},
			Messages: []provider.Message{{ID: 1, Kind: 2, Execution: 3, EventID: 4, Timer: true, VisibleAt: 5, Payload: []byte("m")}},
			Tasks: []provider.MovedTask{{
				TaskRef: ref, Queue: "q", Name: "n", Payload: []byte("p"), Priority: 3, FairnessKey: "f", Session: "s", LimitKey: "l", State: provider.TaskParked,
				Token: key, Attempt: 1, Deliveries: 2, Begun: true, CancelRequested: true, ScheduledAt: 3, NotBefore: 4, StartBy: 5, Deadline: 6, Rank: 7,
				Details: []byte("d"), Failure: []byte("f"),
			}},
			Values: []provider.KeyValue{{Key: "k", Value: []byte("v")}},
			Letters: []provider.MovedLetter{{
				DeadLetter: provider.DeadLetter{
					ID: 1, Task: true, Key: key, InstanceID: "i", Execution: 2, EventID: 3, Kind: 4, Queue: "q", Name: "n", Reason: "r", Payload: []byte("p"), At: 5,
				},
				Timer: true, Priority: 1, FairnessKey: "f", Session: "s", LimitKey: "l",
			}},
		},
	}
}

func written(t *testing.T, pages ...moving.Page) []byte {
	t.Helper()
	var file bytes.Buffer
	w := moving.NewWriter(&file)
	if err := w.Begin(moving.Header{Transfer: full().Key, Sealed: true}); err != nil {
		t.Fatal(err)
	}
	for _, p := range pages {
		if err := w.Page(p); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// A file of each format is read for ever, with all of its fields.
func TestHazard69_FormatStays(t *testing.T) {
	t.Parallel()
	text := written(t, full())
	if *update {
		if err := os.WriteFile(golden, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	older := full()
	older.Parcel.Head.Instance.Excerpt, older.Parcel.Head.Instance.FailureGroup = nil, ""
	readsAs(t, "testdata/format1.jsonl", older)
	if stored := readsAs(t, golden, full()); !bytes.Equal(text, stored) {
		t.Error("this release writes another file in the same format: raise Format, and keep reading the older one")
	}
}

// readsAs checks that a file has one page, and returns the file.
func readsAs(t *testing.T, name string, want moving.Page) []byte {
	t.Helper()
	stored, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	r := moving.NewReader(bytes.NewReader(stored))
	header, err := r.Begin()
	if err != nil || header.Transfer != full().Key || !header.Sealed {
		t.Fatalf("%s: the header is %+v, error %v", name, header, err)
	}
	page, _, err := r.Next()
	if err != nil {
		t.Fatal(err)
	}
	page.Blocked = nil
	if diff := cmp.Diff(&want, page); diff != "" {
		t.Errorf("%s: the page differs (-want +got):\n%s", name, diff)
	}
	if _, end, err := r.Next(); err != nil || end.Instances != 1 || end.Pages != 1 {
		t.Errorf("%s: the end is %+v, error %v", name, end, err)
	}
	return stored
}

func TestNewerFormatIsRefused(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(map[string]any{"header": map[string]any{"perdure": moving.Name, "format": moving.Format + 1}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := moving.NewReader(bytes.NewReader(append(text, '\n'))).Begin(); !errors.Is(err, moving.ErrNewer) {
		t.Errorf("got %v, want ErrNewer", err)
	}
	if _, err := moving.NewReader(bytes.NewReader([]byte("{}\n"))).Begin(); !errors.Is(err, moving.ErrDamaged) {
		t.Errorf("got %v, want ErrDamaged", err)
	}
}

// A line without an end is refused with its place. Its reader never holds much more than the longest line that it admits.
func TestLongLinesAreRefused(t *testing.T) {
	longest := int64(4 * provider.MaxCommitBytes)
	file := written(t, full())
	header := file[:bytes.IndexByte(file, '\n')+1]
	endless := &endless{}
	r := moving.NewReader(io.MultiReader(bytes.NewReader(header), endless))
	if _, err := r.Begin(); err != nil {
		t.Fatal(err)
	}
	_, _, err := r.Next()
	if !errors.Is(err, moving.ErrDamaged) || !strings.Contains(err.Error(), "line 2: the line is too long") {
		t.Errorf("got %v", err)
	}
	const ahead = 2 << 20 // what the reader reads beyond it
	if endless.read < longest-ahead || endless.read > longest+ahead {
		t.Errorf("it was refused after %d bytes, want about %d", endless.read, longest)
	}
	if most := uint64(longest + longest/2); endless.peak > most {
		t.Errorf("%d bytes of memory were in use, want at most %d", endless.peak, most)
	}
}

// endless is a line without an end. It looks how much memory is in use.
type endless struct {
	read int64
	peak uint64
}

// Read implements [io.Reader].
func (e *endless) Read(b []byte) (int, error) {
	const look = 1 << 25
	if e.read/look != (e.read+int64(len(b)))/look {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		e.peak = max(e.peak, m.HeapInuse)
	}
	clear(b)
	e.read += int64(len(b))
	return len(b), nil
}
