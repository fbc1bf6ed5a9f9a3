package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// awaitIdle waits until the writer knows all due moments and has polled for other processes. Then only the test makes it try waiting
// fetches.
func awaitIdle(t *testing.T, p *Provider) {
	t.Helper()
	await(t, "an idle writer", func() bool {
		settled, err := write(t.Context(), p.handle, "idle", 0, func(x *tx, ok *bool) error {
			*ok = p.store.writer.others.alone && !x.schedule.stale
			return nil
		})
		return err == nil && settled
	})
}

// intrude adds a fetch that finds something, so that the writer begins a transaction for it alone. It calls between before
// that.
func intrude(t *testing.T, p *Provider, between func()) {
	t.Helper()
	call := &waitingFetch{
		op: "intrude", fresh: true, done: make(chan struct{}), wants: func(*tx) bool { return false },
		find: func(*tx) (bool, error) {
			between()
			return true, nil
		},
		take: func(*tx) (bool, error) { return false, nil },
	}
	if !p.store.writer.waiters.add(call) {
		t.Fatal("the writer has stopped")
	}
	p.store.writer.queue.Wake()
	<-call.done
	if call.err != nil {
		t.Fatal(call.err)
	}
}

func wantTurn(t *testing.T, got chan fetched) {
	t.Helper()
	select {
	case f := <-got:
		if f.err != nil || len(f.res.Turns) != 1 {
			t.Fatalf("fetched %+v", f)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the fetch was not woken")
	}
}

func TestHazard05_DueWhileAnotherFetchIsServed(t *testing.T) {
	var now atomic.Int64
	now.Store(time.Now().UnixMicro())
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{Clock: func() time.Time { return time.UnixMicro(now.Load()) }})
	_, err := p.Create(t.Context(), provider.CreateRequest{
		ID: "later", Key: newKey(), Commit: newToken(), Name: "x", Message: provider.NewMessage{Delay: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := fetchTurns(t.Context(), p, fetchOf("x", newToken(), time.Minute))
	awaitWaiting(t, p.store.writer, 1)
	awaitIdle(t, p)
	intrude(t, p, func() { now.Add(2_000_000) })
	wantTurn(t, got)
}

func TestHazard38_ForeignCommitSeenWhileAnotherFetchIsServed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	in := create(t, p, "one", "x")
	_, err := p.Steer(t.Context(), provider.SteerRequest{Key: in.Key, Action: provider.SteerSuspend, Commit: newToken(), Event: payload})
	if err != nil {
		t.Fatal(err)
	}
	got := fetchTurns(t.Context(), p, fetchOf("x", newToken(), time.Minute))
	awaitWaiting(t, p.store.writer, 1)
	awaitIdle(t, p)
	other, err := openPresence(path) // another process, which stays
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	intrude(t, p, func() {
		execSQL(t, path, `UPDATE perdure_instance SET status = 1, fetch_at = ready_at`)
	})
	wantTurn(t, got)
}

func TestHazard05_FetchIsTriedThoughItsGroupFails(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	create(t, p, "one", "x")
	waitingOne := fetchTurns(t.Context(), p, fetchOf("other", newToken(), time.Minute))
	awaitWaiting(t, p.store.writer, 1)
	awaitIdle(t, p)
	boom := errors.New("disk I/O error")
	began, end, errs := make(chan struct{}), make(chan struct{}), make(chan error, 2)
	go func() {
		_, err := write(t.Context(), p.handle, "test", 0, func(*tx, *struct{}) error {
			close(began)
			<-end
			return boom
		})
		errs <- err
	}()
	<-began
	go func() {
		_, err := write(t.Context(), p.handle, "test", 0, func(*tx, *struct{}) error { return boom })
		errs <- err
	}()
	await(t, "the member", func() bool { return queued(p) == 1 })
	got := fetchTurns(t.Context(), p, fetchOf("x", newToken(), 0)) // it is served with the second group that fails
	await(t, "the fetch", func() bool {
		p.store.writer.waiters.mu.Lock()
		defer p.store.writer.waiters.mu.Unlock()
		return len(p.store.writer.waiters.calls) == 2
	})
	close(end)
	for range 2 {
		if err := <-errs; !errors.Is(err, boom) {
			t.Error(err)
		}
	}
	wantTurn(t, got)
	create(t, p, "other", "other")
	wantTurn(t, waitingOne)
}

func TestStickinessOfAnotherEndsWhileAFetchIsParked(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	c := startChain(t, p, "w")
	const stickiness = 300 * time.Millisecond
	if _, err := write(t.Context(), p.handle, "enroll", 0, func(t *tx, _ *struct{}) error { return t.enroll("other") }); err != nil {
		t.Fatal(err) // no process serves an owner that is not enrolled
	}
	begin := time.Now() // before the clock is read from which the stickiness counts
	corrupt(t, p, `UPDATE perdure_instance SET sticky_owner = 'other', sticky_until = ?`, p.store.clock.elapsed()+micros(stickiness))
	if _, err := p.Send(t.Context(), provider.SendRequest{Key: c.key, Message: provider.NewMessage{Payload: payload}}); err != nil {
		t.Fatal(err)
	}
	corrupt(t, p, `UPDATE perdure_meta SET value = value`) // forgets the due moments that Send announced
	wantTurn(t, fetchTurns(t.Context(), p, fetchOf("chain-w", newToken(), time.Minute)))
	if d := time.Since(begin); d < stickiness/2 || d > 10*time.Second {
		t.Errorf("fetched after %v: want %v", d, stickiness)
	}
}

func TestJanitorMendsThoughItsGroupRunsTwice(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	in := create(t, p, "one", "x")
	corrupt(t, p, `UPDATE perdure_instance SET ready_at = 0, fetch_at = NULL WHERE key = ?`, in.Key)
	release := hold(t, p)
	swept, refused := make(chan struct{}), make(chan error, 1)
	go func() {
		p.store.janitor.sweep()
		close(swept)
	}()
	await(t, "the janitor", func() bool { return queued(p) == 1 })
	go func() {
		_, err := write(t.Context(), p.handle, "test", 0, func(x *tx, _ *struct{}) error {
			return errors.Join(insertRecord(x, "bad"), provider.ErrConflict)
		})
		refused <- err
	}()
	await(t, "the member", func() bool { return queued(p) == 2 })
	release()
	<-swept
	if err := <-refused; !errors.Is(err, provider.ErrConflict) {
		t.Error(err)
	}
	if n := p.store.janitor.repaired.Load(); n != 1 {
		t.Errorf("repaired %d: want 1", n)
	}
	wantTurn(t, fetchTurns(t.Context(), p, fetchOf("x", newToken(), 0)))
}

func TestHazard39_DeleteOfATreeDeeperThanABatch(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	const depth = deleteBatch + deleteBatch/2
	req := provider.CreateRequest{ID: "root", Name: "x", Message: provider.NewMessage{Payload: payload}}
	for i := range depth {
		req.Key, req.Commit = newKey(), newToken()
		if _, err := p.Create(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		req.Parent = provider.Parent{Key: req.Key, ID: req.ID, Execution: 1, EventID: 1}
		req.ID = fmt.Sprint("child-", i)
	}
	res, err := p.Delete(t.Context(), provider.DeleteRequest{ID: "root", Force: true})
	if err != nil || res.Instances != depth {
		t.Fatalf("deleted %d, %v: want %d", res.Instances, err, depth)
	}
}

func TestHazard28_CancelledAskLeavesNoQuestion(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	in := create(t, p, "one", "x")
	release := hold(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	asked := make(chan error, 1)
	go func() {
		_, err := p.Ask(ctx, provider.AskRequest{AskID: newToken(), Key: in.Key, Wait: time.Minute})
		asked <- err
	}()
	await(t, "the question", func() bool { return queued(p) == 1 })
	began, end := make(chan struct{}), make(chan struct{})
	last := p.store.writer.submit("hold", func(*tx) error {
		close(began)
		<-end
		return nil
	})
	release()
	<-began // the question is in the open transaction
	cancel()
	if err := <-asked; provider.OutcomeOf(err) != provider.OutcomeUnknown {
		t.Error(err)
	}
	close(end)
	<-last.Done
	n, err := write(t.Context(), p.handle, "count", 0, func(x *tx, n *int64) (err error) {
		*n, err = x.integer(`SELECT count(*) FROM perdure_ask`)
		return err
	})
	if err != nil || n != 0 {
		t.Errorf("%d questions that nobody asks, %v", n, err)
	}
}

func TestManyWaitingCallsAreToldLessOften(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	const calls, pause = 2000, 2000 * recheckEach
	for range calls {
		p.store.hub.Expect(newKey())
	}
	others := func() {
		_, err := write(t.Context(), p.handle, "changed", 0, func(_ *tx, _ *struct{}) error {
			p.store.writer.others.changed = true
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rechecks, begin := 0, time.Now()
	for seen := p.store.hub.NextRecheck(); time.Since(begin) < 5*pause; {
		others()
		if now := p.store.hub.NextRecheck(); now != seen {
			rechecks, seen = rechecks+1, now
		}
	}
	if most := int(time.Since(begin)/pause) + 1; rechecks == 0 || rechecks > most {
		t.Errorf("rechecked %d times: want 1 to %d", rechecks, most)
	}
	last := p.store.hub.NextRecheck()
	others()
	select {
	case <-last: // the delayed call runs though there are no other writes
	case <-time.After(20 * time.Second):
		t.Error("not woken for the last one")
	}
}
