package headers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/headers"
	"github.com/perdure/perdure/header"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// The request ID of the example reaches the activities of the orchestration, of its child and of its next execution, also on
// a node that knows the first part from its history only.
func TestRequestIDTravels(t *testing.T) {
	t.Parallel()
	everyStore(t, func(e *enginetest.Engine) {
		e.Options.Propagators = headers.Propagators()
		reg := runtime.NewRegistry()
		if err := errors.Join(
			runtime.AddOrchestration(reg, headers.Order), runtime.AddOrchestration(reg, headers.Ship), runtime.AddActivity(reg, headers.Work),
		); err != nil {
			e.T.Fatal(err)
		}
		first := e.Start(reg)
		c := e.Client(client.Options{Propagators: headers.Propagators()})
		request := headers.WithRequest(e.T.Context(), "r-17")
		h, err := client.StartNamed[[]string](request, c, "Order", nil, client.WithHeader("tenant", "acme"))
		if err != nil {
			e.T.Fatal(err)
		}
		e.Until("the first activity has ended", func() bool { return e.Get(h.Key()).HistoryLength >= 3 })
		e.Stop(first)
		e.Start(reg)
		other := headers.WithRequest(e.T.Context(), "r-18")
		if err := e.Client(client.Options{Propagators: headers.Propagators()}).Raise(other, h.ID(), "packed", "box 4"); err != nil {
			e.T.Fatal(err)
		}
		want := []string{"reserve for r-17", "ship for r-17", "bill for r-17"}
		if got := wait(e, h); !slices.Equal(got, want) {
			e.T.Errorf("the activities did %q", got)
		}

		// The history has the header where it came in, and nowhere else.
		started := map[string]string{"request-id": "r-17", "tenant": "acme"}
		for execution, event := range map[int64]map[string]string{1: {"request-id": "r-18"}, 2: nil} {
			for shown, err := range c.History(e.T.Context(), h.ID(), execution) {
				want := map[string]string(nil)
				switch shown.Kind {
				case history.KindExecutionStarted.String():
					want = started
				case history.KindEventReceived.String():
					want = event
				}
				if err != nil || !maps.Equal(shown.Header, want) {
					e.T.Errorf("execution %d, %s has header %v, %v", execution, shown.Kind, shown.Header, err)
				}
			}
		}
		if level := e.Get(h.Key()).EngineLevel; level < replay.LevelOfHandlers {
			e.T.Errorf("its level is %d", level)
		}
	})
}

// A header goes with each activity however it gets to its node: handed off, through the queue, again after a failure, local,
// and local that continues in the queue. It goes with each request to cancel, too.
func TestHeaderTakesEveryPath(t *testing.T) {
	t.Parallel()
	everyStore(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		var got seen
		work := func(ctx context.Context, _ none) (none, error) {
			info := activity.GetInfo(ctx)
			got.add(info.Header)
			if info.Orchestration != "main" {
				e.T.Errorf("attempt %d of %s is of orchestration %q", info.Attempt, info.Activity, info.Orchestration)
			}
			if info.Attempt == 1 && info.Activity != "handed" {
				return none{}, errFirst
			}
			return none{}, nil
		}
		for _, name := range []string{"handed", "retried", "local"} {
			enginetest.Activity(e.T, reg, name, work)
		}
		enginetest.Activity(e.T, reg, "queued", work, runtime.MaxConcurrent(1)) // goes through the queue
		_, h := start(e, reg, func(ctx *octx, _ none) (none, error) {
			again := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3, InitialInterval: 1_000_000})
			late := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3, InitialInterval: 2_000_000_000})
			for _, name := range []string{"handed", "queued", "retried"} {
				if _, err := orchestration.CallActivityNamed[none](ctx, name, none{}, again); err != nil {
					return none{}, err
				}
			}
			if _, err := orchestration.CallLocalNamed[none](ctx, "local", none{}, again); err != nil {
				return none{}, err
			}
			return orchestration.CallLocalNamed[none](ctx, "local", none{}, late)
		}, none{}, client.WithHeader("tenant", "acme"))
		wait(e, h)
		all := got.list()
		for _, found := range all {
			if !maps.Equal(found, header.Map{"tenant": "acme"}) {
				e.T.Errorf("an attempt has header %v", found)
			}
		}
		if len(all) != 9 {
			e.T.Errorf("%d attempts", len(all))
		}
	})
}

// A request to cancel shows its header. The children of a cancelled execution are asked with the header of its start.
func TestHeaderOfACancelRequest(t *testing.T) {
	t.Parallel()
	everyStore(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, _ none) (none, error) {
			return orchestration.Events[none](ctx, "never").Receive(ctx)
		})
		_, h := start(e, reg, func(ctx *octx, _ none) (none, error) {
			return orchestration.CallOrchestrationNamed[none](ctx, "child", none{}, orchestration.WithInstanceID("child"))
		}, none{}, client.WithHeader("tenant", "acme"))
		c := e.Client(client.Options{})
		e.Until("the child waits", func() bool {
			d, err := c.Describe(e.T.Context(), "child")
			return err == nil && d.HistoryLength > 0
		})
		if err := h.Cancel(e.T.Context(), "enough", client.WithHeader("by", "ann")); err != nil {
			e.T.Fatal(err)
		}
		e.WaitEnded(h.Key())
		d, err := c.Describe(e.T.Context(), "child")
		if err != nil {
			e.T.Fatal(err)
		}
		e.WaitEnded(d.Key)
		for id, want := range map[string]string{h.ID(): "by=ann", "child": "tenant=acme"} {
			found := ""
			for shown, err := range c.History(e.T.Context(), id, 0) {
				if err != nil {
					e.T.Fatal(err)
				}
				if shown.Kind == history.KindCancelRequested.String() {
					for key, value := range shown.Header {
						found += key + "=" + value
					}
				}
			}
			if found != want {
				e.T.Errorf("the request to %s has header %q, want %q", id, found, want)
			}
		}
	})
}

// More headers than fit into one commit are left out and counted. The activities run all the same, and know their
// orchestration.
func TestHazard63_HeadersFitIntoTheCommit(t *testing.T) {
	t.Parallel()
	const calls = 400
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		var got seen
		enginetest.Activity(e.T, reg, "work", func(ctx context.Context, _ none) (none, error) {
			info := activity.GetInfo(ctx)
			got.add(info.Header)
			if info.Orchestration != "main" {
				e.T.Errorf("an attempt of orchestration %q", info.Orchestration)
			}
			return none{}, nil
		}, runtime.MaxConcurrent(100))
		rt, h := start(e, reg, func(ctx *octx, _ none) (int, error) {
			all := make([]orchestration.Future[none], calls)
			for i := range all {
				all[i] = orchestration.StartActivityNamed[none](ctx, "work", none{})
			}
			done, err := orchestration.All(ctx, all...)
			return len(done), err
		}, none{}, client.WithHeader("long", strings.Repeat("x", header.MaxBytes-20)))
		if n := wait(e, h); n != calls {
			e.T.Errorf("%d calls ended", n)
		}
		with := 0
		for _, found := range got.list() {
			with += len(found)
		}
		if left := rt.Stats().HeadersLeftOut; with+int(left) != calls || left == 0 || with < 250 {
			e.T.Errorf("%d attempts had the header, %d were left out", with, left)
		}
	})
}
