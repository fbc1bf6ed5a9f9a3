package sqlite

import (
	"errors"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// An instance that is kept for one owner is found by it after another one has searched.
func TestASearchThatPassesOverSomeLeavesThemToTheirOwner(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "kept.db"), Options{})
	waiting := make(chan struct{})
	go func() { // while a call waits, the writer knows when to search again, and does not search each time
		defer close(waiting)
		_, _ = p.FetchTurns(t.Context(), fetchOf("nobody", newToken(), time.Minute)) // it ends with the test
	}()
	defer func() { <-waiting }()
	defer p.Close() //nolint:errcheck // it ends the call that waits
	await(t, "the call", p.store.writer.waiters.any)
	c := startChain(t, p, "kept")
	req := c.request()
	req.Owner, req.Sticky = "node", time.Minute
	if _, err := p.CommitTurn(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Send(t.Context(), provider.SendRequest{Key: c.key, Message: provider.NewMessage{Payload: payload}}); err != nil {
		t.Fatal(err)
	}
	fetch := func(owner string) int {
		f := fetchOf("chain-kept", newToken(), 0)
		f.Owner = owner
		res, err := p.FetchTurns(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		return len(res.Turns)
	}
	if n := fetch("another"); n != 0 {
		t.Fatalf("another node got %d turns", n)
	}
	if n := fetch("node"); n != 1 {
		t.Errorf("its own node got %d turns", n)
	}
	if n := fetch("node"); n != 0 {
		t.Errorf("the second time it got %d turns", n)
	}
}

// A commit that completes a task and hands off the next one is refused like any other if the task is not held.
func TestStepWithoutTheLeaseIsRefused(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "refused.db"), Options{})
	c := startChain(t, p, "refused")
	before, held := *c, c.token
	c.token = newToken()
	if err := c.step(t); !errors.Is(err, provider.ErrLeaseLost) {
		t.Fatalf("with another token: %v", err)
	}
	*c = before
	c.token = held
	if err := c.step(t); err != nil {
		t.Errorf("with its own: %v", err)
	}
}

// A lease that is given in a group's transaction begins when it was asked for, not when the group began.
func TestLeaseBeginsAfterItWasAskedFor(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "late.db"), Options{})
	create(t, p, "late", "late")
	var got provider.FetchTurnsResult
	var asked provider.Time
	done, began := make(chan error, 1), make(chan struct{})
	m := p.store.writer.submit("slow", func(*tx) error {
		close(began)
		for !p.store.writer.waiters.any() {
			runtime.Gosched()
		}
		return nil
	})
	<-began
	go func() {
		asked = p.store.clock.wall()
		var err error
		got, err = p.FetchTurns(t.Context(), fetchOf("late", newToken(), time.Minute))
		done <- err
	}()
	<-m.Done
	if err := <-done; err != nil || len(got.Turns) != 1 {
		t.Fatalf("%d turns: %v", len(got.Turns), err)
	}
	if got.Now < asked {
		t.Errorf("the answer is of %v before the call", asked.Sub(got.Now))
	}
}
