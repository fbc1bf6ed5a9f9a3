package cancellation

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

type (
	octx   = orchestration.Context
	none   = orchestration.None
	engine = enginetest.Engine
)

// way is how a node that runs activities learns that one must stop.
type way int

const (
	same   way = iota // it makes the turns itself
	notice            // another node makes them, and the store sends notices
	deaf              // another node makes them, and every notice is lost: only renewals report
)

// rig is a store with the nodes on it.
type rig struct {
	*engine

	way    way
	plan   *faulty.Plan      // of the worker's store
	near   provider.Provider // the worker's store
	worker *runtime.Runtime  // runs the activities
	turns  *runtime.Runtime  // makes the turns; same as worker if the way is same
	leaks  bool              // the worker will be shut down while code of it still runs

	orchestrations, activities *runtime.Registry
}

// newRig makes a rig whose nodes have not started. The worker uses near as its store.
func newRig(e *engine, w way, near provider.Provider) *rig {
	r := &rig{engine: e, way: w, plan: faulty.NewPlan(1), activities: runtime.NewRegistry()}
	r.plan.DropNotices(w == deaf)
	r.near = faulty.Wrap(near, r.plan)
	r.orchestrations = r.activities
	if w != same {
		r.orchestrations = runtime.NewRegistry()
	}
	return r
}

// start starts the nodes.
func (r *rig) start() {
	r.T.Helper()
	if r.leaks {
		r.startLeaky()
	} else {
		r.worker = r.StartOn(r.near, r.activities, r.Options)
	}
	r.turns = r.worker
	if r.way != same {
		r.turns = r.Start(r.orchestrations)
	}
}

// startLeaky starts a worker that the test itself shuts down.
func (r *rig) startLeaky() {
	r.T.Helper()
	var err error
	if r.worker, err = runtime.Start(r.T.Context(), r.near, r.activities, r.Options); err != nil {
		r.T.Fatal(err)
	}
	// The test may have failed before it shut the worker down.
	r.T.Cleanup(func() { _ = r.worker.Shutdown(context.WithoutCancel(r.T.Context())) })
}

// main registers an orchestration, starts the nodes and an instance of it.
func (r *rig) main(fn func(*octx, none) (string, error)) provider.UUID {
	r.T.Helper()
	enginetest.Orchestration(r.T, r.orchestrations, "main", fn)
	r.start()
	return r.Create("main", "main", none{})
}

// within returns how long an activity may take to see its cancellation: two renewals if only these report it, else less
// than one. TestActivity_HearsFast measures it.
func (r *rig) within() time.Duration {
	switch {
	case r.way == deaf:
		late := 100 * time.Millisecond
		if !r.Virtual {
			late = 15 * time.Second
		}
		return 2*r.lease()/3 + late
	case r.Virtual:
		return 100 * time.Millisecond
	default:
		return r.lease() / 3 * 9 / 10
	}
}

// soon reports whether something took no longer than it must, to the second in virtual time. In real time it leaves a
// margin for a busy machine.
func (r *rig) soon(took, must time.Duration) bool {
	if r.Virtual {
		return took <= must+2*time.Second
	}
	return took <= must+time.Minute
}

// waited returns how long ago an activity saw its cancellation, and whether the grace period has just passed. The
// period begins before the activity notes the time and after the client asked. In real time these may lie far apart.
func (r *rig) waited(asked time.Time, cancelled heard) (time.Duration, bool) {
	waited := time.Since(cancelled.at)
	atLeast := waited
	if !r.Virtual {
		atLeast = time.Since(asked)
	}
	return waited, atLeast >= r.grace() && r.soon(waited, r.grace())
}

// ample makes the grace period so long in real time that an activity comes back within it on a busy machine. It returns
// how long the activity may rest. Call it before the nodes start.
func (r *rig) ample() time.Duration {
	if r.Virtual {
		return r.grace() / 2
	}
	r.Options.Leaks.GracePeriod = 20 * time.Second
	return 250 * time.Millisecond
}

func (r *rig) lease() time.Duration {
	if r.Options.Lease == 0 {
		return 30 * time.Second
	}
	return r.Options.Lease
}

func (r *rig) grace() time.Duration {
	if r.Options.Leaks.GracePeriod == 0 {
		return 10 * time.Second
	}
	return r.Options.Leaks.GracePeriod
}

// renewed is a time in which a node renews every lease at least once. Only the way that is deaf needs that.
func (r *rig) renewed() time.Duration {
	if r.Virtual || r.way == deaf {
		return r.lease() / 2
	}
	return time.Second
}

// pause lets time pass. It waits in real time only where the clock is real.
func (r *rig) pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// quick returns options that keep tests short in real time and leases valid on a busy machine. There, too, a notice
// arrives long before a renewal.
func quick(w way) runtime.Options {
	lease := time.Minute
	if w == deaf { // tests wait for its renewals
		lease = 6 * time.Second
	}
	return runtime.Options{Lease: lease, Leaks: runtime.LeakOptions{GracePeriod: 500 * time.Millisecond}}
}

// everyWay runs a test in each way on memory in virtual time.
func everyWay(t *testing.T, test func(r *rig)) {
	t.Helper()
	for name, w := range map[string]way{"same node": same, "another node": notice, "renewal alone": deaf} {
		for cache, opts := range map[string]runtime.Options{"cached": {}, "uncached": {Cache: runtime.CacheOptions{Executions: runtime.Off}}} {
			t.Run("memory/"+name+"/"+cache, func(t *testing.T) {
				t.Parallel()
				enginetest.Bubble(t, opts, func(e *engine) { test(newRig(e, w, e.Store)) })
			})
		}
	}
}

// everyStore is everyWay, plus the same test on SQLite and Postgres in real time. There another node has a connection
// of its own.
func everyStore(t *testing.T, test func(r *rig)) {
	t.Helper()
	everyWay(t, test)
	if testing.Short() { // only in virtual time
		return
	}
	for name, w := range map[string]way{"same node": same, "renewal alone": deaf} {
		t.Run("sqlite/"+name, func(t *testing.T) {
			t.Parallel()
			e := enginetest.SQLite(t, quick(w))
			test(newRig(e, w, e.Store))
		})
	}
	for name, w := range map[string]way{"another node": notice, "renewal alone": deaf} {
		t.Run("postgres/"+name, func(t *testing.T) {
			longtest.Skip(t)
			t.Parallel()
			e, near := onPostgres(t, quick(w))
			test(newRig(e, w, near))
		})
	}
}

// onPostgres makes an engine on a new schema, and a second provider of it for another node.
func onPostgres(t *testing.T, opts runtime.Options) (*engine, provider.Provider) {
	t.Helper()
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	open := func() *postgres.Provider {
		p, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	e := enginetest.On(t, open(), opts)
	near := open()
	t.Cleanup(func() {
		if err := near.Close(); err != nil {
			t.Error(err)
		}
	})
	return e, near
}

// heard is the cancellation that an activity saw.
type heard struct {
	name  string
	cause error
	at    time.Time
}

// listener is an activity that reports its begin and ends when it is cancelled.
type listener struct {
	began  chan string
	heard  chan heard
	answer func(cause error) (string, error)
}

// listen registers a listener under a name. The listener returns the cause, or the results of answer unless it is
// nil.
func (r *rig) listen(name string, answer func(cause error) (string, error)) *listener {
	l := &listener{began: make(chan string, 1000), heard: make(chan heard, 1000), answer: answer}
	enginetest.Activity(r.T, r.activities, name, func(ctx context.Context, in string) (string, error) {
		l.began <- in
		<-ctx.Done()
		l.heard <- heard{in, context.Cause(ctx), time.Now()}
		if l.answer == nil {
			return "", context.Cause(ctx)
		}
		return l.answer(context.Cause(ctx))
	})
	return l
}

// hear waits until an activity sees its cancellation.
func (r *rig) hear(l *listener) heard {
	r.T.Helper()
	limit := 2 * time.Minute
	if r.Virtual {
		limit = time.Hour
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case h := <-l.heard:
		return h
	case <-timer.C:
		r.T.Fatalf("no activity was cancelled in %v", limit)
		return heard{}
	}
}

// next waits until an activity sees its cancellation, and fails if that took too long after the given moment.
func (r *rig) next(l *listener, asked time.Time) heard {
	r.T.Helper()
	h := r.hear(l)
	if took := h.at.Sub(asked); took > r.within() {
		r.T.Errorf("%q saw its cancellation after %v, want %v at most", h.name, took, r.within())
	}
	return h
}

func call(ctx *octx, name, in string, opts ...orchestration.ActivityOption) (string, error) {
	return orchestration.CallActivityNamed[string](ctx, name, in, opts...)
}

func begin(ctx *octx, name, in string, opts ...orchestration.ActivityOption) orchestration.Future[string] {
	return orchestration.StartActivityNamed[string](ctx, name, in, opts...)
}

// receive waits for an event without a value.
func receive(ctx *octx, name string) error {
	_, err := orchestration.Events[none](ctx, name).Receive(ctx)
	return err
}
