package local

import (
	"context"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/runtime"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

type (
	octx   = orchestration.Context
	none   = orchestration.None
	engine = enginetest.Engine
)

// rig is a store with one node, not yet started.
type rig struct {
	*engine

	reg  *runtime.Registry
	node *runtime.Runtime
}

// newRig makes a rig. In real time a turn leaves its local activities enough time on a busy machine.
func newRig(e *engine) *rig {
	if !e.Virtual {
		e.Options.LocalActivityTime = 9 * time.Second
	}
	return &rig{engine: e, reg: runtime.NewRegistry()}
}

// brief makes turns end soon and returns the duration of an activity that outlasts them.
func (r *rig) brief() time.Duration {
	r.Options.LocalActivityTime = 200 * time.Millisecond
	return 500 * time.Millisecond
}

// main starts the node and an instance of an orchestration.
func (r *rig) main(fn func(*octx, none) (string, error)) provider.UUID {
	r.T.Helper()
	enginetest.Orchestration(r.T, r.reg, "main", fn)
	r.node = r.Start(r.reg)
	return r.Create("main", "main", none{})
}

// run is one call of an activity of a test.
type run struct {
	info activity.Info
	key  string
}

// script registers an activity that records its runs and returns what do returns for the attempt.
func (r *rig) script(name string, do func(ctx context.Context, attempt int) (string, error)) *enginetest.Notes[run] {
	notes := &enginetest.Notes[run]{}
	enginetest.Activity(r.T, r.reg, name, func(ctx context.Context, _ string) (string, error) {
		info := activity.GetInfo(ctx)
		notes.Add(run{info, activity.IdempotencyKey(ctx)})
		return do(ctx, info.Attempt)
	})
	return notes
}

// kinds returns the kinds of the events in an instance's history.
func (r *rig) kinds(key provider.UUID) string {
	r.T.Helper()
	var names []string
	for _, e := range r.History(key, 1) {
		names = append(names, e.Body.Kind().String())
	}
	return strings.Join(names, " ")
}

// stats stops the node and returns its counters. A commit is counted only after others can see it.
func (r *rig) stats() runtime.Stats {
	r.T.Helper()
	r.Stop(r.node)
	return r.node.Stats()
}

// hold lets time pass in an activity that obeys its context.
func hold(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// everyMode runs a test on memory in virtual time: cached, uncached, evicted.
func everyMode(t *testing.T, test func(r *rig)) {
	t.Helper()
	enginetest.EveryMode(t, func(e *engine) { test(newRig(e)) })
}

// everyStore is everyMode, plus the same test on SQLite and Postgres.
func everyStore(t *testing.T, test func(r *rig)) {
	t.Helper()
	if testing.Short() { // only in virtual time
		enginetest.EveryMode(t, func(e *engine) { test(newRig(e)) })
		return
	}
	enginetest.EveryStore(t, func(e *engine) { test(newRig(e)) })
	for name, opts := range map[string]runtime.Options{"cached": {}, "uncached": {Cache: runtime.CacheOptions{Executions: runtime.Off}}, "evicted": {Cache: runtime.CacheOptions{Bytes: 1}}} {
		t.Run("postgres/"+name, func(t *testing.T) {
			t.Parallel()
			url := postgrestest.URL(t)
			p, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: postgrestest.Schema(t, url)})
			if err != nil {
				t.Fatal(err)
			}
			test(newRig(enginetest.On(t, p, opts)))
		})
	}
}

func call(ctx *octx, name string, opts ...orchestration.ActivityOption) (string, error) {
	return orchestration.CallLocalNamed[string](ctx, name, name, opts...)
}

func begin(ctx *octx, name string, opts ...orchestration.ActivityOption) orchestration.Future[string] {
	return orchestration.StartLocalNamed[string](ctx, name, name, opts...)
}

func retries(p orchestration.RetryPolicy) orchestration.ActivityOption {
	p.Jitter = orchestration.Off
	return orchestration.WithRetry(p)
}

// eventOf returns the first event of a kind.
func eventOf[B history.Body](r *rig, key provider.UUID) B {
	r.T.Helper()
	for _, e := range r.History(key, 1) {
		if b, ok := e.Body.(B); ok {
			return b
		}
	}
	var b B
	r.T.Fatalf("no %T in %s", b, r.kinds(key))
	return b
}

func goexit(context.Context) (string, error) {
	goruntime.Goexit()
	return "", nil
}

func onComplete(ctx context.Context) (string, error) {
	return "", provider.OnComplete(ctx, func(provider.Tx) error { return nil })
}
