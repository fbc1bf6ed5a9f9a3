package cancellation

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Many activities are cancelled at once, also while all slots are taken.
func TestActivity_CancellationUnderStress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]func(r *rig){
		"high_concurrency_cancellation": flood,
		"cancellation_during_high_load": underLoad,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyStore(t, test)
		})
	}
}

const (
	floodInstances  = 100
	floodActivities = 5
)

// flood cancels 100 orchestrations with 5 activities each. Every activity sees it within the time of its way.
func flood(r *rig) {
	const all = floodInstances * floodActivities
	r.Options.MaxConcurrentActivities = all
	limit := time.Second
	if !r.Virtual {
		r.Options.Lease = 30 * time.Second // this many must not lose their leases on a busy machine
	}
	l := r.listen("work", nil)
	enginetest.Orchestration(r.T, r.orchestrations, "one", func(ctx *octx, _ none) (string, error) {
		var calls []orchestration.Future[string]
		for i := range floodActivities {
			calls = append(calls, begin(ctx, "work", fmt.Sprint(i)))
		}
		_, err := orchestration.All(ctx, calls...)
		return "", err
	})
	r.start()
	var keys []provider.UUID
	for i := range floodInstances {
		keys = append(keys, r.Create(fmt.Sprint("one ", i), "one", none{}))
	}
	for range all {
		<-l.began
	}
	asked := time.Now()
	var clients sync.WaitGroup
	for _, key := range keys {
		clients.Go(func() { r.Cancel(key, "enough") })
	}
	clients.Wait()
	var took []time.Duration
	for range all {
		h := r.hear(l)
		took = append(took, h.at.Sub(asked))
		if !stopped(h.cause) {
			r.T.Errorf("saw %v", h.cause)
		}
	}
	slices.Sort(took)
	if r.way == deaf {
		limit += 2 * r.lease() / 3
	}
	r.T.Logf("%d activities saw their cancellation: half of them after %v, the last after %v", all, took[all/2], took[all-1])
	if last := took[all-1]; r.Virtual && last > limit {
		r.T.Errorf("the last saw its cancellation after %v, want %v", last, limit)
	}
	for _, key := range keys {
		if i := r.WaitEnded(key); i.Status != provider.StatusCancelled {
			r.T.Errorf("%s ended as %v", i.ID, i.Status)
		}
	}
	r.Until("no attempt is left", func() bool { return r.worker.Stats().AttemptsRunning == 0 })
}

// underLoad cancels while every slot is taken and as many calls wait. The slots then serve what follows.
func underLoad(r *rig) {
	const slots = 4
	r.Options.MaxConcurrentActivities = slots
	l := r.listen("work", nil)
	enginetest.Activity(r.T, r.activities, "quick", func(context.Context, string) (string, error) { return "done", nil })
	enginetest.Orchestration(r.T, r.orchestrations, "one", func(ctx *octx, _ none) (string, error) { return call(ctx, "work", "") })
	enginetest.Orchestration(r.T, r.orchestrations, "next", func(ctx *octx, _ none) (string, error) { return call(ctx, "quick", "") })
	r.start()
	var busy []provider.UUID
	for i := range 2 * slots {
		busy = append(busy, r.Create(fmt.Sprint("busy ", i), "one", none{}))
	}
	for range slots {
		<-l.began
	}
	var next []provider.UUID
	for i := range 20 {
		next = append(next, r.Create(fmt.Sprint("next ", i), "next", none{}))
	}
	for _, key := range busy {
		r.Cancel(key, "enough")
	}
	for range slots {
		if h := r.hear(l); !stopped(h.cause) {
			r.T.Errorf("saw %v", h.cause)
		}
	}
	for _, key := range busy {
		if i := r.WaitEnded(key); i.Status != provider.StatusCancelled {
			r.T.Errorf("%s ended as %v", i.ID, i.Status)
		}
	}
	for _, key := range next {
		if got := enginetest.Output[string](r.engine, key); got != "done" {
			r.T.Errorf("the next activity returned %q", got)
		}
	}
}

// An activity sees its cancellation within 10 ms on the node that makes the turns, and within 100 ms on another node of
// Postgres. The machine may be busy, so only the fastest of many counts. None waits for the renewal of its lease.
func TestActivity_HearsFast(t *testing.T) {
	lease := runtime.Options{Lease: time.Minute}
	t.Run("same node", func(t *testing.T) {
		e := enginetest.SQLite(t, lease)
		hearsFast(newRig(e, same, e.Store), 10*time.Millisecond)
	})
	t.Run("another node on Postgres", func(t *testing.T) {
		longtest.Skip(t)
		e, near := onPostgres(t, lease)
		hearsFast(newRig(e, notice, near), 100*time.Millisecond)
	})
}

func hearsFast(r *rig, promised time.Duration) {
	l := r.listen("work", nil)
	enginetest.Orchestration(r.T, r.orchestrations, "one", func(ctx *octx, _ none) (string, error) { return call(ctx, "work", "") })
	r.start()
	var took []time.Duration
	for i := range 50 {
		key := r.Create(fmt.Sprint("one ", i), "one", none{})
		<-l.began
		asked := time.Now()
		r.Cancel(key, "enough")
		took = append(took, r.hear(l).at.Sub(asked))
		r.WaitEnded(key)
	}
	slices.Sort(took)
	p50, p98 := took[len(took)/2], took[len(took)-2]
	r.T.Logf("from the client's call to the activity's context: p50 %v, p98 %v, worst %v", p50, p98, took[len(took)-1])
	if fastest := took[0]; fastest > promised {
		r.T.Errorf("the fastest took %v, want %v", fastest, promised)
	}
	if worst := took[len(took)-1]; worst > r.lease()/3*9/10 {
		r.T.Errorf("the slowest took %v: it saw only the renewal of its lease", worst)
	}
}
