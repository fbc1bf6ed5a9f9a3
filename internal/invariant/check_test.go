package invariant_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

func check(t *testing.T, store invariant.Store, o invariant.Options) invariant.Report {
	t.Helper()
	report, err := invariant.Check(t.Context(), store, o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// rules returns the findings as "rule instance event".
func rules(r invariant.Report) (list []string) {
	for _, f := range r.Findings {
		list = append(list, fmt.Sprintf("%s %s %d", f.Rule, f.InstanceID, f.EventID))
	}
	slices.Sort(list)
	return list
}

func want(t *testing.T, r invariant.Report, findings ...string) {
	t.Helper()
	if got := rules(r); !slices.Equal(got, findings) {
		t.Errorf("found %q, want %q", got, findings)
	}
}

// populated makes a store in memory with the instances of populate.
func populated(t *testing.T) *enginetest.Engine {
	t.Helper()
	e := enginetest.Memory(t, runtime.Options{})
	populate(e)
	return e
}

func TestReportCounts(t *testing.T) {
	r := check(t, populated(t).Store, invariant.Options{Idle: true})
	want(t, r)
	// waits 7, child 1, again 2+2, done 4 and its child 4, failed 2, new 0
	if r.Instances != 7 || r.Executions != 8 || r.Events != 22 || len(r.Skipped) != 0 {
		t.Errorf("%+v, want 7 instances, 8 executions and 22 events", r)
	}
}

func TestExpectedOutcomes(t *testing.T) {
	e := populated(t)
	seen := map[string]bool{}
	r := check(t, e.Store, invariant.Options{Idle: true, Expect: func(i provider.Instance, out history.Outcome) error {
		seen[i.ID] = true
		switch {
		case i.ID == "done" && string(out.Output) != "41", i.ID == "failed" && out.Failure == nil, i.ID == "new" && !i.Status.Ended():
			return fmt.Errorf("it is %s with %q", i.Status, out.Output)
		}
		return nil
	}})
	want(t, r, "unexpected-outcome done 0", "unexpected-outcome new 0")
	if len(seen) != 7 {
		t.Errorf("asked about %v", seen)
	}
}

// The storage in memory is the same to the checker: it knows the contract only.
func TestFamilyInMemory(t *testing.T) {
	e := populated(t)
	e.Unchecked("it is broken on purpose")
	store := e.Store
	terminate(t, store, "child")
	want(t, check(t, store, invariant.Options{Idle: true}), "parent-child waits 4")
}

func TestParentEndedInSilenceInMemory(t *testing.T) {
	e := populated(t)
	e.Unchecked("it is broken on purpose")
	terminate(t, e.Store, "waits")
	want(t, check(t, e.Store, invariant.Options{Idle: true}), "parent-child child 0")
}

// A fork that no node has run yet is ready, without a message.
func TestForkThatHasNotBegun(t *testing.T) {
	e := enginetest.Memory(t, runtime.Options{})
	opener, _ := provider.As[provider.Opener](e.Store)
	key := provider.NewKey("fork")
	encode := func(b history.Body) []byte { return history.Encode(nil, history.Event{At: 1, Body: b}) }
	_, err := opener.Fork(t.Context(), provider.ForkRequest{
		Create: provider.CreateRequest{ID: "fork", Key: key, Commit: enginetest.NewID(), Name: "Nobody"},
		Prefix: provider.Prefix{Events: [][]byte{
			encode(&history.ExecutionStarted{Name: "Nobody", Input: []byte("1")}),
			encode(&history.ForkPoint{Seed: make([]byte, 32), ID: "origin", Execution: 1, Event: 2}),
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want(t, check(t, e.Store, invariant.Options{}))
}

// A reset makes an instance ready although no message waits, until its next turn or its end.
func TestResetInstance(t *testing.T) {
	for name, engine := range map[string]func(testing.TB, runtime.Options) *enginetest.Engine{
		"memory": enginetest.Memory, "sqlite": enginetest.SQLite,
	} {
		t.Run(name, func(t *testing.T) {
			e := engine(t, runtime.Options{})
			populate(e)
			begin := history.Encode(nil, history.Event{Body: &history.ExecutionStarted{Name: "Again"}})
			_, err := e.Store.Steer(t.Context(), provider.SteerRequest{
				ID: "again", Action: provider.SteerReset, Commit: enginetest.NewID(), Events: [][]byte{begin},
			})
			if err != nil {
				t.Fatal(err)
			}
			want(t, check(t, e.Store, invariant.Options{Idle: true}))
			terminate(t, e.Store, "again")
			want(t, check(t, e.Store, invariant.Options{Idle: true}))
		})
	}
}

// A crooked inspector shows other rows than those that are stored.
type crooked struct {
	*provider.Full

	bend func(req provider.InspectRequest, res *provider.InspectResult)
}

func (c crooked) Inspect(ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
	inspector, _ := provider.As[provider.Inspector](c.Provider)
	res, err := inspector.Inspect(ctx, req)
	c.bend(req, &res)
	return res, err
}

// hides makes the rows of these kinds look as if they were lost.
func hides(kinds ...provider.InspectKind) func(provider.InspectRequest, *provider.InspectResult) {
	return func(req provider.InspectRequest, res *provider.InspectResult) {
		if slices.Contains(kinds, req.Kind) {
			*res = provider.InspectResult{Now: res.Now}
		}
	}
}

func TestLostRowsInMemory(t *testing.T) {
	store := populated(t).Store
	for _, c := range []struct {
		hidden provider.InspectKind
		want   []string
	}{
		{provider.InspectTasks, []string{"stuck waits 2"}},
		{provider.InspectMessages, []string{
			"ready-time new 0", "ready-time waits 0", "stuck waits 3",
		}},
		{provider.InspectExecutions, []string{"event-gap again 0"}},
	} {
		want(t, check(t, crooked{store, hides(c.hidden)}, invariant.Options{Idle: true}), c.want...)
	}
}

// Findings of only the first check come from pages read at different moments.
func TestOnlyTheSecondLookCounts(t *testing.T) {
	store := populated(t).Store
	for kind := provider.InspectInstances; kind <= provider.InspectDeadLetters; kind++ {
		late := crooked{store, func(req provider.InspectRequest, res *provider.InspectResult) {
			if req.Key.IsZero() {
				hides(kind)(req, res)
			}
		}}
		want(t, check(t, late, invariant.Options{Idle: true}))
	}
}

// Findings of only the second check may have arisen since the first.
func TestBothLooksMustAgree(t *testing.T) {
	store := populated(t).Store
	fickle := crooked{store, func(req provider.InspectRequest, res *provider.InspectResult) {
		if req.Key.IsZero() {
			hides(provider.InspectTasks)(req, res)
		} else {
			hides(provider.InspectMessages)(req, res)
		}
	}}
	want(t, check(t, fickle, invariant.Options{Idle: true}))
}

// An instance that changes during each second check is never caught at one moment: nothing is
// said about it but that.
func TestRestlessInstanceIsSkipped(t *testing.T) {
	e := populated(t)
	waits, err := e.Store.Get(t.Context(), provider.GetRequest{ID: "waits"})
	if err != nil {
		t.Fatal(err)
	}
	restless := crooked{e.Store, func(req provider.InspectRequest, res *provider.InspectResult) {
		hides(provider.InspectTasks)(req, res)
		if req.Kind == provider.InspectTasks && req.Key == waits.Instance.Key {
			e.Raise(req.Key, "go", 1)
		}
	}}
	r := check(t, restless, invariant.Options{Idle: true})
	want(t, r)
	if len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0], `"waits"`) {
		t.Errorf("skipped %q, want the instance", r.Skipped)
	}
}

// A key that is found again is no orphan: the instance was created after its page was read.
func TestInstanceCreatedMeanwhile(t *testing.T) {
	e := populated(t)
	created := false
	store := crooked{e.Store, func(req provider.InspectRequest, _ *provider.InspectResult) {
		if req.Kind == provider.InspectInstances && !created {
			created = true
			e.Create("meanwhile", "Listen", none{})
		}
	}}
	want(t, check(t, store, invariant.Options{Idle: true}))
}

// dead gives all leases an owner that is known to be dead, for so many inspections.
func dead(times int64) func(provider.InspectRequest, *provider.InspectResult) {
	var n atomic.Int64
	return func(_ provider.InspectRequest, res *provider.InspectResult) {
		for i := range res.TurnLeases {
			res.TurnLeases[i].Lease.OwnerGone = n.Add(1) <= times
		}
	}
}

// While others work, a lease of a dead owner is given time to be ended.
func TestDeadLeaseWhileOthersWork(t *testing.T) {
	e := populated(t)
	e.Unchecked("a turn is leased to nobody")
	_, err := e.Store.FetchTurns(t.Context(), provider.FetchTurnsRequest{
		Owner: "ghost", Token: enginetest.NewID(), Lease: time.Hour, Max: 1, EngineLevel: replay.EngineLevel,
		Capabilities: []provider.Capability{{Name: "Listen"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	live := invariant.Options{Patience: time.Millisecond}
	want(t, check(t, e.Store, live))
	want(t, check(t, crooked{e.Store, dead(1 << 60)}, live), "dead-lease new 0")
	want(t, check(t, crooked{e.Store, dead(2)}, live)) // it was ended in time
	bend := dead(1 << 60)
	miscounted := crooked{e.Store, func(req provider.InspectRequest, res *provider.InspectResult) {
		bend(req, res)
		for i := range res.Instances {
			if res.Instances[i].ID == "new" {
				res.Instances[i].InboxMessages = 7
			}
		}
	}}
	want(t, check(t, miscounted, live), "dead-lease new 0", "ready-time new 0") // each once
	want(t, check(t, e.Store, invariant.Options{Idle: true}), "dead-lease new 0")
}

// plain hides the optional feature Inspector.
type plain struct{ *provider.Full }

func TestWithoutInspector(t *testing.T) {
	e := populated(t)
	r := check(t, plain{e.Store}, invariant.Options{})
	want(t, r)
	if r.Instances != 7 || r.Executions != 8 || r.Events != 22 {
		t.Errorf("%+v, want 7 instances, 8 executions and 22 events", r)
	}
	if len(r.Skipped) != 1 || !strings.Contains(r.Skipped[0], "stuck, leftover, orphan, dead-lease and ready-time") {
		t.Errorf("skipped %q", r.Skipped)
	}
	lost := lying{e.Store, func(res *provider.ReadHistoryResult) { res.Events = nil }}
	r = check(t, lost, invariant.Options{})
	if len(r.Findings) == 0 || r.Findings[0].Rule != invariant.UndecodableEvent {
		t.Errorf("found %v", r.Findings)
	}
}

// lying shows other histories than are stored, and no rows.
type lying struct {
	*provider.Full

	bend func(*provider.ReadHistoryResult)
}

func (l lying) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	res, err := l.Provider.ReadHistory(ctx, req)
	l.bend(&res)
	return res, err
}

// failing cannot read histories.
type failing struct{ *provider.Full }

func (failing) ReadHistory(context.Context, provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	return provider.ReadHistoryResult{}, &provider.Error{Op: "read history", Retryable: true, Err: errNo}
}

// A storage that fails to reply is not a broken store.
func TestStorageFails(t *testing.T) {
	e := populated(t)
	if r, err := invariant.Check(t.Context(), failing{e.Store}, invariant.Options{}); !errors.Is(err, errNo) || len(r.Findings) > 0 {
		t.Errorf("%v, %v", r.Findings, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := invariant.Check(ctx, e.Store, invariant.Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// While nodes work as fast as they can, nothing is found.
func TestStoreInUse(t *testing.T) {
	for name, engine := range map[string]func(testing.TB, runtime.Options) *enginetest.Engine{
		"memory": enginetest.Memory, "sqlite": enginetest.SQLite,
	} {
		t.Run(name, func(t *testing.T) {
			e := engine(t, runtime.Options{})
			e.Start(registry(t))
			e.Start(registry(t))
			var keys []provider.UUID
			for n := range 30 {
				keys = append(keys, e.Create(fmt.Sprint("whole-", n), "Whole", 12))
				again := e.Create(fmt.Sprint("again-", n), "Again", 20)
				waits := e.Create(fmt.Sprint("waits-", n), "Listen", none{})
				e.Raise(waits, "never", none{})
				e.Cancel(again, "test")
				keys = append(keys, again, waits)
			}
			checks := 0
			for running := true; running; checks++ {
				running = slices.ContainsFunc(keys, func(key provider.UUID) bool { return !e.Get(key).Status.Ended() })
				want(t, check(t, e.Store, invariant.Options{Patience: time.Millisecond}))
			}
			t.Logf("%d checks", checks)
		})
	}
}

// An execution that was trimmed is not missing, nor is the parent of a child that it started.
func TestTrimmedExecutions(t *testing.T) {
	e := enginetest.Memory(t, runtime.Options{})
	reg := registry(t)
	if err := runtime.AddOrchestration(reg, Leaves); err != nil {
		t.Fatal(err)
	}
	node := e.Start(reg)
	leaves := e.Create("leaves", "Leaves", 4)
	e.Until("it waits", func() bool { return e.Get(leaves).Execution == 5 && e.Get(leaves).HistoryLength == 2 })
	e.Stop(node)
	trimmer, _ := provider.As[provider.Trimmer](e.Store)
	if res, err := trimmer.Trim(t.Context(), provider.TrimRequest{Keep: 2}); err != nil || res.Executions != 2 {
		t.Fatalf("%+v %v, want 2 executions trimmed", res, err)
	}
	want(t, check(t, e.Store, invariant.Options{Idle: true}))
	want(t, check(t, plain{e.Store}, invariant.Options{}))
}

// Leaves starts a child and continues as new n times.
func Leaves(ctx *octx, n int) (none, error) {
	if n == 0 {
		return Listen(ctx, none{})
	}
	orchestration.StartOrchestration(ctx, Listen, none{})
	return none{}, orchestration.ContinueAsNew(ctx, n-1)
}
