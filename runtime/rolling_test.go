package runtime_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// Two nodes, one with newer code, share a store: in one process, on one file, on one server. Each instance that is started
// before, while and after both run ends with the version that it began with, and nothing fails on the way.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	stores := map[string]func(*testing.T) func() provider.Provider{
		"memory": onMemory, "sqlite": onSQLite, "postgres": onPostgres,
	}
	// A release distinguishes its versions by the code version of the store, or by names, as the registry can.
	versions := map[string][2]provider.Capability{
		"version": {{Name: "order", CodeVersion: "1"}, {Name: "order", CodeVersion: "2"}},
		"name":    {{Name: "order-1"}, {Name: "order-2"}},
	}
	for store, open := range stores {
		for by, v := range versions {
			t.Run(store+"/"+by, func(t *testing.T) {
				t.Parallel()
				rollOut(t, open(t), v[0], v[1])
			})
		}
	}
}

// Each of the following returns a function that opens the store once more, as another process would.

func onMemory(*testing.T) func() provider.Provider {
	store := memory.New(memory.Options{})
	return func() provider.Provider { return store }
}

func onSQLite(t *testing.T) func() provider.Provider {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	return func() provider.Provider {
		store, err := sqlite.OpenWith(path, sqlite.Options{Synchronous: sqlite.Off})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}

func onPostgres(t *testing.T) func() provider.Provider {
	t.Helper()
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	return func() provider.Provider {
		store, err := postgres.OpenWith(t.Context(), url, postgres.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		return store
	}
}

// release is one node with what it can run.
type release struct {
	store provider.Provider
	node  *runtime.Runtime
}

// rollout is a rolling upgrade.
type rollout struct {
	*enginetest.Engine

	v1, v2  provider.Capability
	ran     enginetest.Notes[string] // "node activity version" of each activity
	ordered map[provider.UUID]provider.Capability
}

func rollOut(t *testing.T, open func() provider.Provider, v1, v2 provider.Capability) {
	t.Helper()
	const some = 8
	store := open()
	r := &rollout{Engine: enginetest.On(t, store, runtime.Options{}), v1: v1, v2: v2, ordered: make(map[provider.UUID]provider.Capability)}
	older := r.start("old", store, v1)
	before := r.order(some, v1)
	early := r.order(some, v2) // a client was replaced first
	r.reserved(some, v1)
	if h, err := older.node.Health(t.Context()); err != nil || len(h.Unserved) != 1 || h.Unserved[0].Count != some {
		t.Errorf("the old node must show what it cannot run: %+v, %v", h, err)
	}

	second := store
	if _, shared := store.(*memory.Provider); !shared {
		second = open()
		t.Cleanup(func() {
			if err := second.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	newer := r.start("new", second, v1, v2)
	during := append(r.order(some, v1), r.order(some, v2)...)
	r.reserved(2*some, v1)
	r.reserved(2*some, v2)
	r.release(append(before[:some/2:some/2], during[:some/2]...)) // these begin their next execution, and some end, while both run
	r.reserved(3*some, v1)

	r.Stop(older.node)
	after := append(r.order(some, v1), r.order(some, v2)...)
	r.release(append(append(before[some/2:], during[some/2:]...), append(early, after...)...))
	r.judge(older, newer)
}

// start starts a node of a release that has versions.
func (r *rollout) start(name string, store provider.Provider, versions ...provider.Capability) release {
	r.T.Helper()
	reg := runtime.NewRegistry()
	note := func(activity string) func(context.Context, string) (string, error) {
		return func(_ context.Context, version string) (string, error) {
			r.ran.Add(name + " " + activity + " " + version)
			return version, nil
		}
	}
	enginetest.Activity(r.T, reg, "reserve", note("reserve"))
	enginetest.Orchestration(r.T, reg, "parcel", func(ctx *orchestration.Context, version string) (string, error) {
		return version, ctx.Sleep(time.Millisecond)
	})
	names := make(map[provider.Capability]string)
	for _, v := range versions {
		names[v] = text(v)
		if v.CodeVersion == "" {
			names[v] = v.Name
		}
		enginetest.Orchestration(r.T, reg, names[v], r.code(v))
	}
	if len(versions) > 1 { // what only the newer code calls
		enginetest.Activity(r.T, reg, "label", note("label"))
		enginetest.Orchestration(r.T, reg, "courier", func(ctx *orchestration.Context, version string) (string, error) {
			return orchestration.CallActivityNamed[string](ctx, "label", version)
		})
	}
	rt, err := runtime.StartVersions(r.T.Context(), store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)}, names)
	if err != nil {
		r.T.Fatal(err)
	}
	r.T.Cleanup(func() { r.Stop(rt) })
	return release{store, rt}
}

func text(v provider.Capability) string { return v.Name + v.CodeVersion }

// code is the orchestration of a version: two executions, each with an activity, an event and a child.
func (r *rollout) code(v provider.Capability) func(*orchestration.Context, int) (string, error) {
	return func(ctx *orchestration.Context, round int) (string, error) {
		if i := ctx.Info(); i.Orchestration != v.Name || i.CodeVersion != v.CodeVersion {
			return "", fmt.Errorf("%v runs as %q version %q", v, i.Orchestration, i.CodeVersion)
		}
		version, err := orchestration.CallActivityNamed[string](ctx, "reserve", text(v))
		if err != nil {
			return "", err
		}
		if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
			return "", err
		}
		children := []string{"parcel"}
		if v == r.v2 {
			children = append(children, "courier")
		}
		for _, child := range children {
			if version, err = orchestration.CallOrchestrationNamed[string](ctx, child, version); err != nil {
				return "", err
			}
		}
		if round == 0 {
			return "", orchestration.ContinueAsNew(ctx, 1)
		}
		return version, nil
	}
}

// order starts n instances of a version.
func (r *rollout) order(n int, v provider.Capability) (keys []provider.UUID) {
	r.T.Helper()
	for range n {
		key := enginetest.NewID()
		started := history.ExecutionStarted{Name: v.Name, CodeVersion: v.CodeVersion, Input: []byte("0"), Settings: replay.SettingsAt(replay.EngineLevel)}
		_, err := r.Store.Create(r.T.Context(), provider.CreateRequest{
			ID: key.String(), Key: key, Commit: enginetest.NewID(), Name: v.Name, CodeVersion: v.CodeVersion, EngineLevel: replay.EngineLevel,
			Message: provider.NewMessage{Kind: provider.MessageKind(started.Kind()), Payload: history.Encode(nil, history.Event{Body: &started})},
		})
		if err != nil {
			r.T.Fatal(err)
		}
		r.ordered[key] = v
		keys = append(keys, key)
	}
	return keys
}

// reserved waits until the first activity of a version has run n times.
func (r *rollout) reserved(n int, v provider.Capability) {
	r.T.Helper()
	r.Until(fmt.Sprintf("%d executions of %v have begun", n, v), func() bool {
		return r.times("old reserve "+text(v))+r.times("new reserve "+text(v)) >= n
	})
}

func (r *rollout) times(what string) (n int) {
	for _, ran := range r.ran.All() {
		if ran == what {
			n++
		}
	}
	return n
}

// release lets instances continue through both of their executions.
func (r *rollout) release(keys []provider.UUID) {
	r.T.Helper()
	for _, key := range keys {
		r.Raise(key, "go", 1)
		r.Raise(key, "go", 2)
	}
}

// judge waits for the end of everything.
func (r *rollout) judge(older, newer release) {
	r.T.Helper()
	for key, v := range r.ordered {
		if got := enginetest.Output[string](r.Engine, key); got != text(v) {
			r.T.Errorf("an order of %v ended as one of %q", v, got)
		}
		i := r.Get(key)
		if i.Name != v.Name || i.CodeVersion != v.CodeVersion || i.Execution != 2 {
			r.T.Errorf("an order of %v is now %q version %q, execution %d", v, i.Name, i.CodeVersion, i.Execution)
		}
	}
	for name, side := range map[string]release{"old": older, "new": newer} {
		s := side.node.Stats()
		if s.TurnsFailed+s.AttemptsFailed+s.AttemptsRetried+s.AttemptsPoisoned+s.AttemptsDiscarded+s.StorageErrors > 0 {
			r.T.Errorf("something failed on the %s node: %+v", name, s)
		}
		if r.times(name+" reserve "+text(r.v1)) == 0 {
			r.T.Errorf("the %s node has done none of the common work", name)
		}
	}
	h, err := newer.node.Health(r.T.Context())
	if err != nil || h.Blocked+h.DeadLetters > 0 || len(h.Unserved) > 0 {
		r.T.Errorf("after the upgrade: %+v, %v", h, err)
	}
	executions := r.times("new reserve "+text(r.v2)) + r.times("old reserve "+text(r.v2))
	if n := r.times("new label " + text(r.v2)); n != executions {
		r.T.Errorf("%d labels, must be %d: one for each execution of the new version", n, executions)
	}
}
