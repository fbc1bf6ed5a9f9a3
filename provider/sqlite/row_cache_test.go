package sqlite

import (
	"context"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// known returns the row of an instance as the writer knows it and as it is stored.
func known(t *testing.T, p *Provider, key provider.UUID) (in, stored provider.Instance, ok bool) {
	t.Helper()
	m := p.store.writer.submit("known", func(t *tx) error {
		if err := t.Flush(); err != nil {
			return err
		}
		in, ok = t.cachedInstance(key)
		_, err := instanceOf(t.db, &stored, sqlInstance, key)
		return err
	})
	if <-m.Done; m.Err != nil {
		t.Fatal(m.Err)
	}
	return in, stored, ok
}

func TestKnownRowsAreTheStoredOnes(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "known.db"), Options{})
	same := func(when string, key provider.UUID) {
		t.Helper()
		if in, stored, ok := known(t, p, key); !ok || !reflect.DeepEqual(in, stored) {
			t.Errorf("%s (known: %v):\n%+v\nstored:\n%+v", when, ok, in, stored)
		}
	}
	root := create(t, p, "root", "nobody")
	same("made", root.Key)
	child, err := p.Create(t.Context(), provider.CreateRequest{
		ID: "child", Key: newKey(), Commit: newToken(), Name: "nobody", RequestID: "once", EngineLevel: 3,
		Message: provider.NewMessage{Payload: payload, Delay: time.Hour},
		Parent:  provider.Parent{Key: root.Key, ID: root.ID, Execution: 1, EventID: 7, Close: provider.CloseAbandon},
	})
	if err != nil {
		t.Fatal(err)
	}
	same("made as a child", child.Instance.Key)
	same("made with its first turn", startBegun(t, p, "begun").key)
	c := startChain(t, p, "chain")
	same("after its first turn", c.key)
	if err := c.step(t); err != nil {
		t.Fatal(err)
	}
	same("after a step", c.key)
	req := c.request()
	req.CustomStatus = []byte("half way")
	if _, err := p.CommitTurn(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := known(t, p, c.key); ok {
		t.Error("the custom status is not among what is known")
	}
}

func TestWhoWaitsHearsTheStoredRow(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "heard.db"), Options{})
	c := startChain(t, p, "chain")
	results := make(chan provider.GetResult, 1)
	go func() {
		res, err := p.Get(t.Context(), provider.GetRequest{Key: c.key, WaitEnded: true, Wait: time.Minute})
		if err != nil {
			t.Error(err)
		}
		results <- res
	}()
	await(t, "the call", func() bool { return p.store.hub.Watched(c.key) })
	if err := c.end(t); err != nil {
		t.Fatal(err)
	}
	got := <-results
	want, err := p.Get(t.Context(), provider.GetRequest{Key: c.key})
	if err != nil || !reflect.DeepEqual(got.Instance, want.Instance) {
		t.Errorf("got:\n%+v\nstored (%v):\n%+v", got.Instance, err, want.Instance)
	}
}

// A call that begins to wait during the commit, after the rows for waiting calls were read, gets what is known of its row.
func TestWhoBeganToWaitDuringTheCommitHearsTheRow(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "late.db"), Options{})
	c, other := startChain(t, p, "chain"), startChain(t, p, "nobody waits for it")
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = p.Get(ctx, provider.GetRequest{Key: c.key, WaitEnded: true, Wait: time.Minute})
	}()
	await(t, "the call", func() bool { return p.store.hub.Watched(c.key) })
	_, stored, _ := known(t, p, c.key)
	w := p.store.writer
	w.lock.Lock()
	clear(w.committer.rows)
	row, none := w.committer.rowOf(c.key), w.committer.rowOf(other.key)
	w.lock.Unlock()
	if row == nil || !reflect.DeepEqual(*row, stored) || none != nil {
		t.Errorf("got:\n%+v\nstored:\n%+v\nof the one that nobody waits for: %+v", row, stored, none)
	}
	cancel()
	<-over
}

// A change of an instance by another process is noticed though the instance is known to be running.
func TestWaitBeginsWithALookAfterAForeignCommit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "other.db")
	p := openTest(t, path, Options{})
	in := create(t, p, "ended elsewhere", "nobody")
	other, err := connect(t.Context(), dsn(path, Options{}.withDefaults(), false))
	if err != nil {
		t.Fatal(err)
	}
	defer other.close() //nolint:errcheck // nothing is open
	if _, err := other.exec(t.Context(), "UPDATE perdure_instance SET status = ?, ended_at = 1 WHERE key = ?", provider.StatusCompleted, in.Key); err != nil {
		t.Fatal(err)
	}
	create(t, p, "the writer polls", "nobody")
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if _, err := p.Get(ctx, provider.GetRequest{Key: in.Key, WaitEnded: true, Wait: time.Minute}); err != nil {
		t.Error(err)
	}
}
