package headers

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// An activity learns all of its call, whether its node got it by the commit of the turn, from the queue or inside the turn.
func TestInfoOfAnActivity(t *testing.T) {
	t.Parallel()
	everyStore(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		infos := make(chan activity.Info, 10)
		work := func(ctx context.Context, _ none) (none, error) {
			infos <- activity.GetInfo(ctx)
			return none{}, nil
		}
		enginetest.Activity(e.T, reg, "handed", work)
		enginetest.Activity(e.T, reg, "queued", work, runtime.MaxConcurrent(1))
		policy := orchestration.RetryPolicy{MaxAttempts: 3, InitialInterval: time.Second, Jitter: orchestration.Off, NonRetryable: []string{"Fatal"}, MaxElapsed: time.Hour}
		opts := []orchestration.ActivityOption{
			orchestration.WithRetry(policy), orchestration.WithScheduleToCloseTimeout(time.Hour), orchestration.WithStartToCloseTimeout(time.Minute),
			orchestration.WithHeartbeatTimeout(30 * time.Second),
		}
		rt, h := start(e, reg, func(ctx *octx, _ none) (none, error) {
			for _, name := range []string{"handed", "queued"} {
				if _, err := orchestration.CallActivityNamed[none](ctx, name, none{}, opts...); err != nil {
					return none{}, err
				}
			}
			return orchestration.CallLocalNamed[none](ctx, "handed", none{}, orchestration.WithRetry(policy))
		}, none{}, client.WithHeader("tenant", "acme"))
		wait(e, h)
		created, ended := e.Get(h.Key()).CreatedAt.Std(), e.Get(h.Key()).EndedAt.Std()
		for _, name := range []string{"handed", "queued", "handed"} {
			got := <-infos
			between(e, name+" started", got.Started, created, ended)
			between(e, name+" scheduled", got.Scheduled, created, got.Started)
			want := activity.Info{
				Activity: name, Queue: orchestration.DefaultQueue, InstanceID: h.ID(), Execution: 1, EventID: got.EventID, Attempt: 1, Deliveries: 1,
				Deadline: got.Deadline, Scheduled: got.Scheduled, Started: got.Started, Node: rt.Owner(), Orchestration: "main", Header: header.Map{"tenant": "acme"},
				Retry: &activity.RetryPolicy{
					MaxAttempts: 3, InitialInterval: time.Second, MaxInterval: time.Minute, Coefficient: 2, NonRetryable: []string{"Fatal"}, MaxElapsed: time.Hour,
				},
			}
			if got.EventID == 0 {
				want.Local = true // with a limit of its own
			} else {
				between(e, name+" deadline of the call", got.CallDeadline, created.Add(time.Hour), ended.Add(time.Hour))
				want.HeartbeatTimeout, want.CallDeadline = 30*time.Second, got.CallDeadline
			}
			if diff := cmp.Diff(want, got); diff != "" {
				e.T.Errorf("%s: %s", name, diff)
			}
		}
	})
}

// between reports a time that is out of bounds. Clocks of a node and of its store differ a little.
func between(e *enginetest.Engine, what string, at, from, to time.Time) {
	e.T.Helper()
	if at.Before(from.Add(-time.Second)) || at.After(to.Add(time.Second)) {
		e.T.Errorf("%s at %v, want %v to %v", what, at, from, to)
	}
}

// An orchestration learns its place among its ancestors, and what it learns is the same on a replay.
func TestInfoOfAnOrchestration(t *testing.T) {
	t.Parallel()
	everyStore(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		type facts struct{ Main, Child, Grandchild orchestration.Info }
		enginetest.Activity(e.T, reg, "work", func(context.Context, none) (none, error) { return none{}, nil })
		enginetest.Orchestration(e.T, reg, "grandchild", func(ctx *octx, n int) (orchestration.Info, error) {
			if n > 0 {
				return orchestration.Info{}, orchestration.ContinueAsNew(ctx, n-1)
			}
			return ctx.Info(), nil
		})
		enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, _ none) (facts, error) {
			info, err := orchestration.CallOrchestrationNamed[orchestration.Info](ctx, "grandchild", 1, orchestration.WithInstanceID("grandchild"))
			return facts{Child: ctx.Info(), Grandchild: info}, err
		})
		_, h := start(e, reg, func(ctx *octx, _ none) (facts, error) {
			before := ctx.Info()
			if _, err := orchestration.CallActivityNamed[none](ctx, "work", none{}); err != nil {
				return facts{}, err
			}
			f, err := orchestration.CallOrchestrationNamed[facts](ctx, "child", none{}, orchestration.WithInstanceID("child"))
			f.Main = ctx.Info()
			// A replay that sees another figure takes another branch, which blocks the instance.
			for range f.Main.HistoryLength - before.HistoryLength {
				if err := ctx.Sleep(time.Millisecond); err != nil {
					return facts{}, err
				}
			}
			return f, err
		}, none{})
		got := wait(e, h)
		key := h.Key().String()
		for name, c := range map[string]struct {
			got  orchestration.Info
			want orchestration.Info
		}{
			"main": {got.Main, orchestration.Info{
				ID: h.ID(), Key: key, Execution: 1, Orchestration: "main", RootID: h.ID(), RootKey: key, HistoryLength: 5,
			}},
			"child": {got.Child, orchestration.Info{
				ID: "child", Execution: 1, Orchestration: "child", ParentID: h.ID(), ParentKey: key, RootID: h.ID(), RootKey: key, HistoryLength: 3,
			}},
			"grandchild": {got.Grandchild, orchestration.Info{
				ID: "grandchild", Execution: 2, Orchestration: "grandchild", ParentID: "child", ParentKey: got.Child.Key, RootID: h.ID(), RootKey: key, HistoryLength: 2,
			}},
		} {
			c.want.Key = c.got.Key
			c.want.Started, c.want.FirstStarted, c.want.HistoryBytes = c.got.Started, c.got.FirstStarted, c.got.HistoryBytes
			if diff := cmp.Diff(c.want, c.got); diff != "" {
				e.T.Errorf("%s: %s", name, diff)
			}
			if c.got.Started.IsZero() || c.got.FirstStarted.IsZero() || c.got.FirstStarted.After(c.got.Started) || c.got.HistoryBytes < 64 {
				e.T.Errorf("%s: %+v", name, c.got)
			}
		}
		if got.Main.FirstStarted != got.Main.Started {
			e.T.Error("the first execution started at another time than itself")
		}
	})
}

// A loop continues as new when that is suggested, long before a limit.
func TestLoopContinuesWhenSuggested(t *testing.T) {
	t.Parallel()
	test := func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		_, h := start(e, reg, func(ctx *octx, rounds int) (int, error) {
			for {
				if info := ctx.Info(); info.ContinueAsNewSuggested && rounds == 0 {
					return int(info.HistoryLength), nil
				} else if info.ContinueAsNewSuggested {
					return 0, orchestration.ContinueAsNew(ctx, rounds-1)
				}
				if _, err := orchestration.SideEffect(ctx, func() (string, error) { return strings.Repeat("x", 64<<10), nil }); err != nil {
					return 0, err
				}
				if err := ctx.Sleep(time.Second); err != nil {
					return 0, err
				}
			}
		}, 1)
		if got := wait(e, h); got < 64*3 || got > 70*3 {
			e.T.Errorf("suggested at %d events of 64 KiB each three", got)
		}
		if i := e.Get(h.Key()); i.Execution != 2 {
			e.T.Errorf("%d executions", i.Execution)
		}
	}
	if testing.Short() { // to rebuild 4 MiB at each turn takes a minute
		enginetest.Bubble(t, runtime.Options{}, test)
		return
	}
	enginetest.EveryMode(t, test)
}
