package sqlite

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// Followers read no stamps for what this process commits by calls that name what they change. They do after commits of other processes, and
// after statements that name nothing, twice each: a commit is counted before it can be read.
func TestHazard83_OwnCommitsReadNoStamps(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	in := create(t, p, "one", "x")
	w := p.store.writer
	dueTwice := func(what string) {
		t.Helper()
		for n, want := range []bool{true, true, false} {
			if got := p.store.stamps.due(w); got != want {
				t.Errorf("after %s, poll %d: due is %v", what, n, got)
			}
		}
	}
	for p.store.stamps.due(w) { // what opening has done
	}
	before := w.commits.Load()
	for range 10 {
		if _, err := p.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: provider.NewMessage{Kind: 1, Payload: []byte("m")}}); err != nil {
			t.Fatal(err)
		}
	}
	if w.commits.Load() == before {
		t.Fatal("no commit was counted")
	}
	if p.store.stamps.due(w) {
		t.Error("own commits make stamps be read")
	}
	execSQL(t, path, `UPDATE perdure_instance SET deliveries = deliveries + 1`)
	if _, err := p.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: provider.NewMessage{Kind: 1, Payload: []byte("m")}}); err != nil {
		t.Fatal(err) // it notices the other one's commit
	}
	dueTwice("a commit of another process")
	if _, err := p.Record(t.Context(), provider.RecordRequest{Namespace: "k", Key: "r", Action: provider.RecordPut, Value: []byte("v")}); err != nil {
		t.Fatal(err)
	}
	dueTwice("a statement that names nothing")
	p.store.stamps.failed()
	dueTwice("a failed read")
	p.store.stamps.readAt = time.Now().Add(-2 * stampAtLeast)
	if _, err := p.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: provider.NewMessage{Kind: 1, Payload: []byte("m")}}); err != nil {
		t.Fatal(err)
	}
	if !p.store.stamps.due(w) || p.store.stamps.due(w) {
		t.Error("the net below is not there, or is read too often")
	}
}
