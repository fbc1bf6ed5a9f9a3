package client_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

var update = flag.Bool("update", false, "write the golden files")

// fileOf returns a history of the given events.
func fileOf(bodies ...history.Body) client.HistoryFile {
	f := client.HistoryFile{
		InstanceID: "order-1", Key: key, Execution: 2, Orchestration: "Checkout", CodeVersion: "v2", Status: client.StatusRunning, EngineLevel: 7,
	}
	for i, b := range bodies {
		e := history.Event{Body: b}
		if b.Kind().IsMessage() {
			e.At = 1_000_000 + int64(i)
		}
		f.Events = append(f.Events, history.Encode(nil, e))
	}
	return f
}

func sample() client.HistoryFile {
	settings := history.Settings{MaxPayload: 100, MaxEvents: 200, MaxBytes: 300, Flags: 6}
	return fileOf(
		&history.ExecutionStarted{Name: "Checkout", CodeVersion: "v1", Input: []byte(`{"Item":"tea & <milk>"}`), Settings: settings},
		&history.ActivityScheduled{Name: "Charge", Queue: "default", Input: []byte("1")},
		&history.ActivityCompleted{Scheduled: 2, Output: []byte("\xff"), Attempt: 1},
	)
}

func written(t *testing.T, f client.HistoryFile) string {
	t.Helper()
	var text bytes.Buffer
	if err := client.WriteHistory(&text, f); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// first returns the first history of a text.
func first(text string) (client.HistoryFile, error) {
	next, stop := iter.Pull2(client.ReadHistories(strings.NewReader(text)))
	defer stop()
	f, err, _ := next()
	return f, err
}

// The form of a file is written down. Files of format 1 must stay readable: add another golden file for another format.
func TestHistoryFileHasItsForm(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "order-1.history")
	text := written(t, sample())
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("wrote\n%s\nwant\n%s", text, want)
	}
	got, err := first(string(want))
	if err != nil || !reflect.DeepEqual(got, sample()) {
		t.Errorf("read %+v, %v", got, err)
	}
}

// Files that are joined hold the histories of all of them, and all kinds of events come through.
func TestHistoryFilesCanBeJoined(t *testing.T) {
	t.Parallel()
	all := make([]history.Body, 0, len(kinds))
	for _, k := range kinds {
		all = append(all, k.body)
	}
	want := []client.HistoryFile{sample(), fileOf(), fileOf(all...)}
	text := ""
	for _, f := range want {
		text += written(t, f)
	}
	var got []client.HistoryFile
	for f, err := range client.ReadHistories(strings.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, f)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
}

// The fields of an event for people are only shown: a file that was edited there is read as it was stored.
func TestHistoryFileCountsOnlyBytes(t *testing.T) {
	t.Parallel()
	text := written(t, sample())
	edited := strings.ReplaceAll(text, `"kind":"ActivityScheduled","name":"Charge"`, `"kind":17,"more":{}`)
	if edited == text {
		t.Fatal("nothing was edited")
	}
	if got, err := first(edited); err != nil || !reflect.DeepEqual(got, sample()) {
		t.Errorf("read %+v, %v", got, err)
	}
}

// A file that is not whole, of another kind or of a newer release is refused with where and why.
func TestHistoryFileRefusesWhatItCannotRead(t *testing.T) {
	t.Parallel()
	text := written(t, sample())
	lines := strings.SplitAfter(text, "\n")
	newer := history.Encode(nil, history.Event{Body: &history.ExecutionOpened{}})
	newer[0] = 99
	data, err := json.Marshal(newer)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"":         "it is empty",
		"PK\x03":   "near byte",
		`{"id":1}`: "no field perdureHistory",
		strings.Replace(text, `"perdureHistory":1`, `"perdureHistory":2`, 1):     "it has format 2, and this release reads up to 1",
		strings.Replace(text, `"perdureHistory":1`, `"perdureHistory":0`, 1):     "formats begin with 1",
		strings.Replace(text, `"perdureHistory":1`, `"perdureHistory":"one"`, 1): "near byte",
		lines[0] + lines[1]: `instance "order-1" has 1 of 3 events`,
		text[:len(text)-10]: `instance "order-1" has 2 of 3 events`,
		lines[0] + lines[1] + lines[1] + `{"bytes":"AA*="}`:            "near byte",
		lines[0] + lines[1] + `{"bytes":"AAAA"}`:                       "event 2 has format 0",
		lines[0] + lines[1] + `{"bytes":` + string(data) + `}`:         "upgrade",
		strings.Replace(lines[0], `"events":3`, `"events":"three"`, 1): "near byte",
	} {
		_, err := first(text)
		if !errors.Is(err, client.ErrHistoryFile) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: got %v, want it to say %q", text, err, want)
		}
	}
	broken := sample()
	broken.Events[1] = []byte{9}
	if err := client.WriteHistory(&bytes.Buffer{}, broken); err == nil {
		t.Error("an event that cannot be decoded was written")
	}
	failing := errors.New("disk on fire")
	for _, err := range client.ReadHistories(badReader{failing}) {
		if !errors.Is(err, failing) || errors.Is(err, client.ErrHistoryFile) {
			t.Errorf("got %v, want that of the reader", err)
		}
	}
}

// A value that does not end is not read into memory. Nothing that an export writes is as long.
func TestHistoryFileBoundsAValue(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	head := strings.SplitAfter(written(t, sample()), "\n")[0]
	for name, begin := range map[string]string{"first": `{"x":"`, "event": head + `{"bytes":"`} {
		endless := &endlessReader{strings.NewReader(begin), 0}
		for _, err := range client.ReadHistories(endless) {
			if !errors.Is(err, client.ErrHistoryFile) || !strings.Contains(err.Error(), "longer than") {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if endless.n > 4*provider.MaxCommitBytes {
			t.Errorf("%s: it read %d bytes", name, endless.n)
		}
	}
}

// endlessReader reads begin, and then the same letter for ever.
type endlessReader struct {
	begin *strings.Reader
	n     int // letters that were read
}

func (r *endlessReader) Read(p []byte) (int, error) {
	if r.begin.Len() > 0 {
		return r.begin.Read(p)
	}
	for i := range p {
		p[i] = 'A'
	}
	r.n += len(p)
	return len(p), nil
}

type badReader struct{ err error }

func (r badReader) Read([]byte) (int, error) { return 0, r.err }

// An export holds the whole stored history of the current execution, or of an earlier one.
func TestExportHistory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, client.Options{})
	h := w.Start(client.WithID("order-1"))
	empty, err := w.ExportHistory(t.Context(), "order-1", 0)
	if err != nil || len(empty.Events) != 0 || empty.Orchestration != "Checkout" || empty.Key != h.Key() {
		t.Errorf("not begun: %+v, %v", empty, err)
	}
	w.End(h.Key(), provider.StatusCompleted, history.Outcome{Output: []byte("1")})
	for _, execution := range []int64{0, 1} {
		f, err := h.ExportHistory(t.Context(), execution)
		if err != nil || f.InstanceID != "order-1" || f.Execution != 1 || f.Status != client.StatusCompleted || len(f.Events) != 2 {
			t.Fatalf("execution %d: %+v, %v", execution, f, err)
		}
		var shown []string
		for e, err := range f.Readable() {
			if err != nil {
				t.Fatal(err)
			}
			shown = append(shown, e.Kind)
		}
		if got := strings.Join(shown, " "); got != "ExecutionStarted ExecutionCompleted" {
			t.Errorf("got %s", got)
		}
	}
	if _, err := w.ExportHistory(t.Context(), "order-1", 2); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("an execution that is not there: %v", err)
	}
	if _, err := w.ExportHistory(t.Context(), "order-1", -1); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("execution -1: %v", err)
	}
	if _, err := w.ExportHistory(t.Context(), "order-2", 0); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("no instance: %v", err)
	}
}
