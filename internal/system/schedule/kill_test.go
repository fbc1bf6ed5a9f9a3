package schedule_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// steps are more calls than a node makes of its store, in the time that killed gives it.
const steps = 400

// Wherever its node dies - before or behind any call of the store - a schedule starts each due time exactly once.
func TestKilledAtEveryStep(t *testing.T) {
	t.Parallel()
	stride := longtest.Pick(37, 1)
	for name, kind := range map[string]faulty.Kind{"before": faulty.Before, "behind": faulty.After} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			calls := 0
			for n := 1; n <= steps; n += stride {
				died := false
				synctest.Test(t, func(t *testing.T) {
					died = killed(t, n, kind)
				})
				if calls = n; !died {
					break
				}
			}
			if calls < 20 || calls > steps-stride {
				t.Errorf("a node made %d calls", calls)
			}
			t.Logf("%d calls", calls)
		})
	}
}

// killed runs a schedule on a node whose store is gone from the n-th call on, and then on another node.
func killed(t *testing.T, n int, kind faulty.Kind) (died bool) {
	store := memory.New(memory.Options{})
	e := enginetest.On(t, store, runtime.Options{})
	e.Virtual = true
	w := &world{Engine: e, Client: clienttest.New(t, store, client.Options{})}

	before := w.Start(w.registry()) // raises the level of the new store
	s := w.create(every(10*time.Minute), job{})
	w.Stop(before)

	plan := faulty.NewPlan(1)
	dead := make(chan struct{})
	var calls atomic.Int64
	ops := []faulty.Op{faulty.FetchTurns, faulty.CommitTurn, faulty.FetchTasks, faulty.ReportTasks, faulty.Create, faulty.Send, faulty.Get}
	plan.Add(faulty.Rule{Ops: ops, Kind: kind, Match: func(any) bool {
		switch made := calls.Add(1); {
		case made == int64(n):
			close(dead)
			return true
		case made > int64(n):
			return true
		}
		return false
	}})
	first, err := runtime.Start(t.Context(), faulty.Wrap(store, plan), w.registry(), runtime.Options{Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-dead:
		died = true
		plan.Disconnect()
		w.Start(w.registry())
	case <-time.After(25 * time.Minute):
		calls.Store(-1 << 40) // it lives on
	}
	w.pass(40*time.Minute + time.Second)
	w.exact(s, n)
	stop, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Second)
	defer cancel()
	_ = first.Shutdown(stop)
	return died
}

// exact checks that each due time has one run that has completed, and that none was refused, skipped or missed.
func (w *world) exact(s client.Schedule, n int) {
	w.T.Helper()
	list, err := w.Client.List(w.T.Context(), client.Filter{IDPrefix: "s/"}, client.Page{})
	w.must(err)
	d := w.describe(s)
	want := ""
	for _, i := range slices.Backward(list.Items) {
		want += fmt.Sprint(i.ID, i.Status, " ")
	}
	got := ""
	for due := d.Next[0].Due.Add(-time.Duration(d.Started) * 10 * time.Minute); due.Before(d.Next[0].Due); due = due.Add(10 * time.Minute) {
		got += fmt.Sprint("s/", due.Format("2006-01-02T15:04:05Z"), client.StatusCompleted, " ")
	}
	if got != want || d.Started < 3 || d.Skips["id-in-use"]+d.Skips["refused"] > 0 {
		w.T.Errorf("step %d: runs %s, wanted %s: %+v", n, want, got, d)
	}
}
