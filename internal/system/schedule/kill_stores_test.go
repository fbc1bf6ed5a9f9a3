package schedule_test

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

var everyCall = flag.Bool("schedule.every-call", false, "kill a node at each of 40 calls of its store, also on SQLite and Postgres")

// A schedule on SQLite and on Postgres, in real time. One node after the other dies before or behind some call of the store. Each due
// time has one run. TestKilledAtEveryStep has all calls, in virtual time.
func TestKilledOnEveryStore(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) (provider.Provider, error){
		"sqlite": func(t *testing.T) (provider.Provider, error) {
			t.Helper()
			return sqlite.OpenWith(filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Synchronous: sqlite.Off, Logger: quiet()})
		},
		"postgres": func(t *testing.T) (provider.Provider, error) {
			t.Helper()
			url := postgrestest.URL(t)
			return postgres.OpenWith(t.Context(), url, postgres.Options{Schema: postgrestest.Schema(t, url), Logger: quiet()})
		},
	} {
		for part := range slices.Chunk(deadly(), 12) { // a schedule whose nodes die more often in a row is held as a poisonous one
			t.Run(fmt.Sprintf("%s/%d-%d", name, part[0], part[len(part)-1]), func(t *testing.T) {
				t.Parallel()
				store, err := open(t)
				if err != nil {
					t.Fatal(err)
				}
				killedInTurn(t, store, part)
			})
		}
	}
}

// killedInTurn runs a schedule on nodes that die one after the other, and then on one that lives.
func killedInTurn(t *testing.T, store provider.Provider, deadly []int) {
	t.Helper()
	e := enginetest.On(t, store, runtime.Options{Lease: 500 * time.Millisecond})
	w := &world{Engine: e, Client: clienttest.New(t, store, client.Options{Logger: quiet()})}
	before := e.Start(w.registry()) // raises the level of the new store
	spec := every(time.Second)
	spec.Overlap, spec.MaxRunning, spec.CatchUp = client.OverlapAllowAll, 100, client.CatchUp{Max: 1000}
	s, err := client.CreateScheduleNamed(t.Context(), w.Client, "s", spec, "Job", job{})
	if err != nil {
		t.Fatal(err)
	}
	e.Stop(before)
	var all sync.WaitGroup
	defer all.Wait()
	deaths := 0
	for i, n := range deadly {
		rt, died := w.dying(n, [...]faulty.Kind{faulty.Before, faulty.After}[i%2])
		if died {
			deaths++
		}
		all.Go(func() {
			stop, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Second)
			defer cancel()
			_ = rt.Shutdown(stop)
		})
	}
	if deaths < len(deadly)/2 {
		t.Errorf("%d of %d nodes died, must be half of them", deaths, len(deadly))
	}
	e.Start(w.registry())
	started := w.describe(s).Started
	w.Until("it goes on", func() bool { return w.describe(s).Started >= started+2 })
	if err := s.Pause(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	w.Until("it rests", func() bool { d := w.describe(s); return d.Paused && d.Runs == 0 })
	w.oneRunASecond(s)
	t.Logf("%d nodes died, and %d due times have run", deaths, w.describe(s).Started)
}

// deadly returns at which calls of the store nodes die. Each comes twice: before the call and behind it.
func deadly() (calls []int) {
	switch {
	case *everyCall:
		for n := 1; n <= 40; n++ {
			calls = append(calls, n, n)
		}
	case testing.Short():
		calls = []int{4, 11}
	default:
		for _, n := range []int{1, 3, 6, 10, 15, 21} {
			calls = append(calls, n, n)
		}
	}
	return calls
}

// dying runs a node until its n-th call of the store, or for some due times if it makes fewer. The store is gone for it from then on.
func (w *world) dying(n int, kind faulty.Kind) (rt *runtime.Runtime, died bool) {
	w.T.Helper()
	plan := faulty.NewPlan(1)
	dead := make(chan struct{})
	var calls atomic.Int64
	ops := []faulty.Op{faulty.FetchTurns, faulty.CommitTurn, faulty.FetchTasks, faulty.ReportTasks, faulty.Create, faulty.Send, faulty.Get}
	plan.Add(faulty.Rule{Ops: ops, Kind: kind, Match: func(any) bool {
		made := calls.Add(1)
		if made == int64(n) {
			close(dead)
		}
		return made >= int64(n)
	}})
	rt, err := runtime.Start(w.T.Context(), faulty.Wrap(w.Store, plan), w.registry(), runtime.Options{Logger: quiet(), Lease: w.Options.Lease})
	if err != nil {
		w.T.Fatal(err)
	}
	alive := time.NewTimer(30 * time.Second)
	defer alive.Stop()
	select {
	case <-dead:
		died = true
	case <-alive.C:
	}
	plan.Disconnect()
	return rt, died
}

// oneRunASecond checks that each due time, of a schedule that rests, has one run, which has completed.
func (w *world) oneRunASecond(s client.Schedule) {
	w.T.Helper()
	runs, first, last := map[string]int{}, "", ""
	for i, err := range w.Client.All(w.T.Context(), client.Filter{IDPrefix: "s/", Replaced: true}) {
		if err != nil {
			w.T.Fatal(err)
		}
		if runs[i.ID]++; i.Status != client.StatusCompleted {
			w.T.Errorf("%s is %s", i.ID, i.Status)
		}
		if last = max(last, i.ID); first == "" || i.ID < first {
			first = i.ID
		}
	}
	const id = "s/" + time.RFC3339
	at, err := time.Parse(id, first)
	if err != nil {
		w.T.Fatal(err)
	}
	due := int64(0)
	for ; at.Format(id) <= last; at = at.Add(time.Second) {
		if due++; runs[at.Format(id)] != 1 {
			w.T.Errorf("due time %v has %d runs, must be one", at, runs[at.Format(id)])
		}
	}
	if d := w.describe(s); d.Started != due || int64(len(runs)) != due || len(d.Skips) > 0 {
		w.T.Errorf("%d runs from %s to %s: %+v", len(runs), first, last, d)
	}
}
