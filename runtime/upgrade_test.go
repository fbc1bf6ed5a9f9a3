package runtime_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// fleet is a store with nodes of two releases.
type fleet struct {
	*enginetest.Engine

	reg *runtime.Registry
}

// unlisted is a store without records, as releases before the list of nodes use it.
type unlisted struct{ provider.Provider }

func newFleet(e *enginetest.Engine) *fleet {
	e.T.Helper()
	f := &fleet{e, runtime.NewRegistry()}
	enginetest.Activity(e.T, f.reg, "double", func(_ context.Context, n int) (int, error) { return 2 * n, nil })
	enginetest.Orchestration(e.T, f.reg, "child", func(ctx *orchestration.Context, n int) (int, error) {
		return n + 1, ctx.Sleep(time.Millisecond)
	})
	enginetest.Orchestration(e.T, f.reg, "main", func(ctx *orchestration.Context, n int) (int, error) {
		double, err := orchestration.CallActivityNamed[int](ctx, "double", n)
		if err != nil {
			return 0, err
		}
		if _, err := orchestration.Events[int](ctx, "go").Receive(ctx); err != nil {
			return 0, err
		}
		next, err := orchestration.CallOrchestrationNamed[int](ctx, "child", double)
		if err != nil || n > 5 {
			return next, err
		}
		return 0, orchestration.ContinueAsNew(ctx, next)
	})
	return f
}

// node starts a node that runs executions up to a level.
func (f *fleet) node(store provider.Provider, level int64) *runtime.Runtime {
	f.T.Helper()
	rt, err := runtime.Start(upgrade.As(f.T.Context(), level), store, f.reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.T.Fatal(err)
	}
	f.T.Cleanup(func() { f.Stop(rt) })
	return rt
}

// older starts a node of a release before there were records, and waits until it has begun instances.
func (f *fleet) older(keys ...provider.UUID) *runtime.Runtime {
	f.T.Helper()
	rt := f.node(unlisted{f.Store}, replay.LowestLevel)
	f.Until("they have begun", func() bool {
		return !slices.ContainsFunc(keys, func(key provider.UUID) bool { return f.Get(key).HistoryLength == 0 })
	})
	return rt
}

// start starts some instances by a client of a node, or of none.
func (f *fleet) start(n int, node client.Node, opts ...client.StartOption) (keys []provider.UUID) {
	f.T.Helper()
	c, err := client.New(f.Store, client.Options{Node: node, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		f.T.Fatal(err)
	}
	for range n {
		h, err := client.StartNamed[int](f.T.Context(), c, "main", 1, opts...)
		if err != nil {
			f.T.Fatal(err)
		}
		keys = append(keys, h.Key())
	}
	return keys
}

// release lets instances pass their events, which are as many as their executions.
func (f *fleet) release(keys ...provider.UUID) {
	f.T.Helper()
	for _, key := range keys {
		for i := range 3 {
			f.Raise(key, "go", i)
		}
	}
}

// ended waits until instances have ended well.
func (f *fleet) ended(keys ...provider.UUID) {
	f.T.Helper()
	for _, key := range keys {
		if got := enginetest.Output[int](f.Engine, key); got != 15 { // 1, 3, 7
			f.T.Errorf("an instance ended with %d, want 15", got)
		}
	}
}

// Half of the fleet gets the new release, and goes back. Instances that used nothing newer finish on the old nodes. The rest waits
// where operators see it, and finishes once a new node runs.
func TestHazard80_HalfOfTheFleetGoesBack(t *testing.T) {
	t.Parallel()
	const some = 6
	for name, open := range map[string]func(*testing.T) func() provider.Provider{"memory": onMemory, "sqlite": onSQLite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(enginetest.On(t, open(t)(), runtime.Options{}))
			before := f.start(some, client.Node{}) // the store has data and no record
			f.older(before...)
			fresh := f.node(f.Store, replay.EngineLevel)
			during := slices.Concat(f.start(some, client.Node{}), f.start(some, fresh.Node()))
			newer := f.start(some, fresh.Node(), client.WithDelay(time.Millisecond))
			f.release(before[:some/2]...)
			f.ended(before[:some/2]...)
			f.Until("delayed starts have begun", func() bool {
				return !slices.ContainsFunc(newer, func(key provider.UUID) bool { return f.Get(key).HistoryLength < 2 })
			})
			f.Stop(fresh) // back

			rest := slices.Concat(before[some/2:], during)
			for _, key := range rest {
				if level := f.Get(key).EngineLevel; level != replay.LowestLevel {
					t.Errorf("an instance that uses nothing newer has level %d", level)
				}
			}
			f.release(slices.Concat(rest, newer)...)
			f.ended(rest...)
			f.waits(newer)
			f.node(f.Store, replay.EngineLevel)
			f.ended(newer...)
		})
	}
}

// waits demands that instances wait for a newer node, and that it shows.
func (f *fleet) waits(keys []provider.UUID) {
	f.T.Helper()
	for _, key := range keys {
		if i := f.Get(key); i.Status != provider.StatusRunning || i.EngineLevel != replay.LevelOfDelay || i.Blocked != nil {
			f.T.Errorf("%s, level %d: it must wait", i.Status, i.EngineLevel)
		}
	}
	s, err := upgrade.ReadStatus(f.T.Context(), f.Store)
	if err != nil || s.Above(replay.LowestLevel) != int64(len(keys)) || s.Allowed != upgrade.Unrecorded {
		f.T.Errorf("%+v, %v: %d instances must be above the old node", s, err, len(keys))
	}
}

// New executions, children too, use what the newest release brought on a store that began with it. On a store with data they
// do so only after the upgrade was finished, and without a restart.
func TestHazard80_FinishAllowsWhatIsNewer(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]bool{"empty": false, "with data": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
				f := newFleet(e)
				var keys []provider.UUID
				started := replay.LevelOf(&history.ExecutionStarted{Settings: replay.SettingsAt(replay.EngineLevel)})
				if data {
					keys = f.start(1, client.Node{})
					f.Stop(f.older(keys...))
				}
				rt := f.node(f.Store, replay.EngineLevel)
				level := func(node client.Node) int64 {
					key := f.start(1, node)[0]
					f.release(key)
					f.ended(key)
					res, err := f.Store.List(f.T.Context(), provider.ListRequest{Filter: provider.Filter{ParentKey: key}})
					if err != nil || len(res.Instances) != 3 {
						f.T.Fatalf("%+v, %v", res, err)
					}
					for _, child := range res.Instances {
						// An execution that continues another one says when the first began, which needs the newest level.
						if own := f.Get(key).EngineLevel; child.EngineLevel > own || child.EngineLevel < min(own, started) {
							f.T.Errorf("a child has level %d, its parent %d", child.EngineLevel, f.Get(key).EngineLevel)
						}
					}
					return f.Get(key).EngineLevel
				}
				newest := int64(replay.LevelOfLanguage) // that of a start which uses all that a start may
				want := newest
				if data {
					want = replay.LowestLevel
				}
				for _, node := range []client.Node{{}, rt.Node()} {
					if got := level(node); got != want {
						f.T.Errorf("before: level %d, want %d", got, want)
					}
				}
				if _, _, err := upgrade.Finish(f.T.Context(), f.Store, replay.EngineLevel, false); err != nil {
					f.T.Fatal(err)
				}
				time.Sleep(61 * time.Second) //nolint:forbidigo // in a bubble
				for _, node := range []client.Node{{}, rt.Node()} {
					if got := level(node); got != newest {
						f.T.Errorf("after: level %d, want %d", got, newest)
					}
				}
				f.release(keys...)
				f.ended(keys...)
			})
		})
	}
}

// A message of a new client to an old instance leaves it to old nodes, unless the message needs a newer one. Then the old node
// leaves the instance to the new one at once.
func TestHazard62_ANewClientStallsNoInstance(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		f := newFleet(e)
		keys := f.start(4, client.Node{})
		old := f.node(unlisted{f.Store}, replay.LowestLevel)
		c, err := client.New(f.Store, client.Options{})
		if err != nil {
			f.T.Fatal(err)
		}
		began := time.Now()
		plain, asked, newer := keys[:2], keys[2], keys[3]
		for _, key := range plain {
			for range 3 {
				if err := c.Raise(f.T.Context(), f.Get(key).ID, "go", 1); err != nil {
					f.T.Fatal(err)
				}
			}
		}
		f.ended(plain...)
		if err := c.Cancel(f.T.Context(), f.Get(asked).ID, "enough"); err != nil {
			f.T.Fatal(err)
		}
		for _, i := range []provider.Instance{f.Get(plain[0]), f.Get(plain[1]), f.WaitEnded(asked)} {
			if i.EngineLevel != replay.LowestLevel {
				f.T.Errorf("a new client raised the level of an old instance to %d", i.EngineLevel)
			}
		}

		f.node(f.Store, replay.EngineLevel)
		body := history.EventReceived{Name: "go", Payload: []byte("1")}
		for range 3 {
			_, err := f.Store.Send(f.T.Context(), provider.SendRequest{Key: newer, Message: provider.NewMessage{
				Kind: provider.MessageKind(body.Kind()), EngineLevel: replay.EngineLevel, Payload: history.Encode(nil, history.Event{Body: &body}),
			}})
			if err != nil {
				f.T.Fatal(err)
			}
		}
		f.ended(newer)
		if took := time.Since(began); took > 200*time.Millisecond {
			f.T.Errorf("it took %v: turns were delayed", took)
		}
		if s := old.Stats(); s.TurnsFailed > 0 {
			f.T.Errorf("%d turns failed on the old node", s.TurnsFailed)
		}
	})
}

// A node shows what is ready and above its level. Describe says so if no listed node runs it.
func TestWorkAboveTheLevelShows(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		e.Unchecked("it has an instance of a newer level")
		f := newFleet(e)
		const above = replay.EngineLevel + 1
		key := enginetest.NewID()
		_, err := f.Store.Create(f.T.Context(), provider.CreateRequest{
			ID: "newer", Key: key, Commit: enginetest.NewID(), Name: "main", EngineLevel: above, Message: provider.NewMessage{Kind: 1, Payload: []byte("newer")},
		})
		if err != nil {
			f.T.Fatal(err)
		}
		rt := f.node(f.Store, replay.EngineLevel)
		h, err := rt.Health(f.T.Context())
		if want := (runtime.Unserved{Kind: "orchestration", Name: "main", EngineLevel: above, Count: 1}); err != nil || fmt.Sprint(h.Unserved) != fmt.Sprint([]runtime.Unserved{want}) {
			f.T.Errorf("%+v, %v", h, err)
		}
		c, err := rt.Client(client.Options{})
		if err != nil {
			f.T.Fatal(err)
		}
		if d, err := c.Describe(f.T.Context(), "newer"); err != nil || !d.NoNode {
			f.T.Errorf("%+v, %v, want NoNode", d, err)
		}
		nodes, err := operate.New(c).Nodes(f.T.Context())
		if err != nil || len(nodes) != 1 || nodes[0].Owner != rt.Owner() || nodes[0].EngineLevel != replay.EngineLevel || nodes[0].Registered != 2 || nodes[0].StartedAt.IsZero() {
			f.T.Errorf("%+v, %v", nodes, err)
		}
		f.Stop(rt)
		if nodes, err := operate.New(c).Nodes(f.T.Context()); err != nil || len(nodes) != 0 {
			f.T.Errorf("after shutdown: %+v, %v", nodes, err)
		}
	})
}

// A fault of the storage while the first node starts does not leave a new store at the level of old releases.
func TestLevelOfANewStoreSurvivesFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range []faulty.Kind{faulty.Before, faulty.After} {
		synctest.Test(t, func(t *testing.T) {
			plan := faulty.NewPlan(1)
			plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Record}, First: 3, Kind: kind})
			f := newFleet(enginetest.On(t, memory.New(memory.Options{}), runtime.Options{}))
			f.node(faulty.Wrap(f.Store, plan), replay.EngineLevel)
			if s, err := upgrade.ReadStatus(t.Context(), f.Store); err != nil || s.Allowed != replay.EngineLevel {
				t.Errorf("faults of kind %v: the store allows level %d, want %d; %v", kind, s.Allowed, replay.EngineLevel, err)
			}
		})
	}
}
