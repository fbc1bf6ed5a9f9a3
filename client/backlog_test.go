package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
)

// busy makes a world that takes limit starts before a node works.
func busy(t *testing.T, limit int, p client.OverloadPolicy) *world {
	t.Helper()
	w := newWorld(t, client.Options{MaxBacklog: limit, Overload: p})
	for range limit {
		w.Start()
	}
	return w
}

// tryStart starts one under an ID. It is not held back for longer than some minutes.
func (w *world) tryStart(ctx context.Context, id string, opts ...client.StartOption) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	_, err := client.Start(ctx, w.Client, Checkout, order{}, append(opts, client.WithID(id))...)
	return err
}

// stored returns the IDs of the instances that tests have named, oldest first.
func (w *world) stored() (ids []string) {
	w.t.Helper()
	for i, err := range w.All(w.t.Context(), client.Filter{IDPrefix: "x"}) {
		if err != nil {
			w.t.Fatal(err)
		}
		ids = append(ids, i.ID)
	}
	slices.Reverse(ids)
	return ids
}

// take plays a node that takes n of the turns that wait, and keeps them.
func (w *world) take(n int) {
	w.t.Helper()
	req := provider.FetchTurnsRequest{
		Owner: "node", Token: provider.UUID{1}, Lease: time.Hour, Capabilities: []provider.Capability{{Name: "Checkout"}}, EngineLevel: 1 << 20, Max: n,
	}
	res, err := w.store.FetchTurns(w.t.Context(), req)
	if err != nil || len(res.Turns) != n {
		w.t.Fatalf("took %d turns, %v", len(res.Turns), err)
	}
}

// leaveTask plays a node that makes a turn which asks for an activity, and does not take that.
func (w *world) leaveTask() {
	w.t.Helper()
	h := w.Start(client.WithOverload(client.Admit))
	w.Commit(h.Key(), func(req *provider.CommitTurnRequest) {
		req.Tasks = []provider.NewTask{{EventID: 2, Queue: "default", Name: "Charge"}}
	})
}

func TestRefusedStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := busy(t, 3, client.Refuse)
		time.Sleep(time.Second) //nolint:forbidigo // virtual time
		err := w.tryStart(t.Context(), "x")
		want(t, err, `starting "Checkout" as instance "x": too much work waits in the store: 3 turns and 0 activities, most of it orchestration "Checkout", `+
			`and the limit is 3: start again later, or run more nodes`, client.ErrOverloaded)
		full, ok := errors.AsType[*client.OverloadedError](err)
		if !ok || full.RetryAfter <= 0 {
			t.Fatalf("error %#v", err)
		}
		w.take(1)
		if err := w.tryStart(t.Context(), "x"); !errors.Is(err, client.ErrOverloaded) {
			t.Errorf("before RetryAfter: %v", err)
		}
		time.Sleep(full.RetryAfter) //nolint:forbidigo // virtual time
		if err := w.tryStart(t.Context(), "x"); err != nil {
			t.Errorf("after RetryAfter: %v", err)
		}
		if err := w.tryStart(t.Context(), "x2"); !errors.Is(err, client.ErrOverloaded) {
			t.Errorf("the place of one let in two: %v", err)
		}
		if ids := w.stored(); len(ids) != 1 {
			t.Errorf("stored %q", ids)
		}
	})
}

// Activities that no node has taken count, too, and the error says what most of it is.
func TestWaitingActivitiesHoldStartsBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{MaxBacklog: 3, Overload: client.Refuse})
		w.leaveTask()
		w.leaveTask()
		w.Start()
		time.Sleep(time.Second) //nolint:forbidigo // virtual time
		err := w.tryStart(t.Context(), "x")
		full, ok := errors.AsType[*client.OverloadedError](err)
		if !ok || full.Turns != 1 || full.Activities != 2 || full.Limit != 3 || full.Most != `activity "Charge" of queue "default"` {
			t.Errorf("error %v", err)
		}
	})
}

// Each place that nodes make lets the start in that has waited longest.
func TestBlockedStartsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := busy(t, 2, client.Block)
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				if err := w.tryStart(t.Context(), fmt.Sprint("x", i)); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		for n := range 5 {
			time.Sleep(time.Second) //nolint:forbidigo // virtual time
			synctest.Wait()
			if ids := w.stored(); len(ids) != n {
				t.Errorf("%d places, stored %q", n, ids)
			}
			w.take(1)
		}
		all.Wait()
		if ids := w.stored(); !slices.Equal(ids, []string{"x0", "x1", "x2", "x3", "x4"}) {
			t.Errorf("stored in order %q", ids)
		}
	})
}

// A start whose context ends while it waits has stored nothing, and its error describes the backlog.
func TestBlockedStartGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := busy(t, 1, client.Block)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		first := make(chan error)
		go func() { first <- w.tryStart(ctx, "x1") }()
		synctest.Wait()
		behind, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := w.tryStart(behind, "x2"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("in line: %v", err)
		}
		// Refusing needs no place in the line.
		began := time.Now()
		if err := w.tryStart(t.Context(), "x3", client.WithOverload(client.Refuse)); !errors.Is(err, client.ErrOverloaded) || time.Since(began) > 0 {
			t.Errorf("beside the line: after %v %v", time.Since(began), err)
		}
		want(t, <-first, `starting "Checkout" as instance "x1": context deadline exceeded while it was held back: too much work waits in the store: `+
			`1 turn and 0 activities, most of it orchestration "Checkout", and the limit is 1: start again later, or run more nodes`,
			context.DeadlineExceeded, client.ErrOverloaded)
		if ids := w.stored(); len(ids) > 0 {
			t.Errorf("stored %q", ids)
		}
	})
}

// Neither a start that is to be stored all the same is held back nor one that would keep a transaction open meanwhile.
func TestStartsThatAreNotHeldBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := busy(t, 1, client.Block)
		if err := w.tryStart(t.Context(), "x1", client.WithOverload(client.Admit)); err != nil {
			t.Error(err)
		}
		tx := w.store.Begin()
		if err := w.tryStart(t.Context(), "x2", memory.InTx(tx)); err != nil {
			t.Error(err)
		}
		if err := w.tryStart(t.Context(), "x3", memory.InTx(tx), client.WithOverload(client.Refuse)); !errors.Is(err, client.ErrOverloaded) {
			t.Error(err)
		}
		if err := tx.Commit(); err != nil {
			t.Error(err)
		}
		if ids := w.stored(); !slices.Equal(ids, []string{"x1", "x2"}) {
			t.Errorf("stored %q", ids)
		}
	})
}

// slowStats counts how often it is asked what waits, and takes its time.
type slowStats struct {
	hidden

	took  time.Duration
	calls int
}

func (s *slowStats) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	s.calls++
	time.Sleep(s.took) //nolint:forbidigo // virtual time
	if !req.Waiting {
		return provider.StatsResult{}, errors.New("asked for more than what waits")
	}
	return s.Full.Stats(ctx, req)
}

// A start need not look: what one look saw lets in as many as fit, and looks are rarer the more they cost.
func TestLooksAreRare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ took, pause time.Duration }{{0, 10 * time.Millisecond}, {50 * time.Millisecond, time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			store := &slowStats{hidden: hidden{provider.FullOf(newWorld(t, client.Options{}).store)}, took: c.took}
			w := &world{t: t, World: &clienttest.World{T: t, Client: clienttest.New(t, store, client.Options{MaxBacklog: 100, Overload: client.Refuse})}}
			for range 100 {
				w.Start()
			}
			if store.calls != 1 {
				t.Errorf("100 starts looked %d times", store.calls)
			}
			began := time.Now()
			for store.calls < 11 {
				if err := w.tryStart(t.Context(), "x"); !errors.Is(err, client.ErrOverloaded) {
					t.Fatal(err)
				}
				time.Sleep(time.Millisecond) //nolint:forbidigo // virtual time
			}
			if took := time.Since(began); took < 10*c.pause {
				t.Errorf("10 looks of %v in %v", c.took, took)
			}
		})
	}
}

// A storage that is away when it is looked at fails a start as it would fail the start itself.
func TestLookThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, client.Options{MaxBacklog: 1, CallTimeout: time.Minute})
		w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Stats}, First: 3, Kind: faulty.Before})
		w.Start()
		w.plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Stats}, Kind: faulty.Before})
		time.Sleep(time.Second) //nolint:forbidigo // virtual time
		if err := w.tryStart(t.Context(), "x"); !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, client.ErrOutcomeUnknown) {
			t.Errorf("error %v", err)
		}
		if ids := w.stored(); len(ids) > 0 {
			t.Errorf("stored %q", ids)
		}
	})
}
