//nolint:contextcheck,ineffassign,staticcheck,wastedassign // the pages show one line after the other
package coming_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/codec"
	"github.com/perdure/perdure/examples/coming"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

type (
	Order   = coming.Order
	Receipt = coming.Receipt
	Shop    = coming.Shop
)

var (
	Checkout = coming.Checkout
	Ship     = coming.Ship
	Charge   = coming.Charge
	Positive = coming.Positive
)

// The code of this file compiles and is not run: it is what the pages show.

func TemporalCalls(ctx *orchestration.Context, o Order) error {
	r, err := orchestration.CallActivity(ctx, Charge, o)
	f := orchestration.StartActivity(ctx, Charge, o)
	r, err = f.Get(ctx)
	_, err = orchestration.CallActivity(ctx, Charge, o, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3}))
	_, err = orchestration.CallActivityNamed[Receipt](ctx, "Charge", o)
	ctx = ctx.WithActivityOptions(orchestration.WithStartToCloseTimeout(time.Minute))
	r, err = orchestration.CallLocal(ctx, Charge, o)
	_, err = orchestration.CallActivity(ctx, Charge, o, orchestration.WithQueue("gpu"))
	session := orchestration.WithSession(ctx.NewUUID().String())
	_, err = orchestration.CallActivity(ctx, Charge, o, session, orchestration.WithHeartbeatTimeout(time.Minute))
	_, err = orchestration.CallActivity(ctx, Charge, o, orchestration.WithPriority(1), orchestration.WithFairnessKey("ann"))
	_ = r
	return err
}

func TemporalActivity(ctx context.Context, o Order) (Receipt, error) {
	err := activity.Heartbeat(ctx, 17)
	n, ok, err := activity.HeartbeatDetails[int](ctx)
	attempt := activity.GetInfo(ctx).Attempt
	if attempt > n || !ok {
		return Receipt{}, orchestration.NonRetryable(err)
	}
	if err != nil {
		return Receipt{}, activity.RetryAfter(err, time.Minute)
	}
	token := activity.Token(ctx)
	return Receipt{ID: token}, activity.ErrParked
}

func TemporalCoroutines(ctx *orchestration.Context, orders []Order) error {
	paid := false
	f := ctx.Go(func(ctx *orchestration.Context) error { return ctx.Sleep(time.Hour) })
	events := orchestration.Events[Receipt](ctx, "paid")
	which, err := orchestration.Select(ctx, f, events)
	err = ctx.Await(func() bool { return paid })
	err = ctx.Await(func() bool { return paid }, orchestration.Within(time.Hour))
	err = ctx.Sleep(time.Hour)
	timer := orchestration.StartTimer(ctx, time.Hour)
	now := ctx.Now()
	p := orchestration.NewPromise[Receipt](ctx)
	var mu orchestration.Mutex
	err = mu.Lock(ctx)
	g := orchestration.NewGroup(ctx)
	g.Go(func(ctx *orchestration.Context) error { return ctx.Sleep(time.Minute) })
	err = g.Wait()
	receipts, err := orchestration.Map(ctx, orders, 5, Checkout)
	id, err := orchestration.SideEffect(ctx, func() (string, error) { return "random", nil })
	child, cancel := ctx.WithCancel()
	detached := ctx.Detached()
	ctx.Logger().Info("paid", "order", id)
	var saga orchestration.Saga
	saga.Undo(func(ctx *orchestration.Context) error { return ctx.Err() })
	err = saga.Compensate(ctx)
	cancel()
	_, _, _, _, _, _, _ = which, timer, now, p, receipts, child, detached
	return err
}

func TemporalLife(ctx *orchestration.Context, o Order) (Receipt, error) {
	r, err := orchestration.CallOrchestration(ctx, Ship, o)
	started := orchestration.StartDetached(ctx, Ship, o)
	sent := orchestration.Raise(ctx, "7", "paid", r)
	if ctx.Patched("mail-first") && ctx.Info().ContinueAsNewSuggested {
		return r, orchestration.ContinueAsNew(ctx, o)
	}
	_, err = orchestration.All(ctx, started)
	_, err = sent.Get(ctx)
	return r, err
}

var Checkout2 = orchestration.Define("checkout", coming.Checkout, orchestration.Version("2"))

func TemporalMessages(ctx *orchestration.Context, o Order) (int, error) {
	stage, total := "new", 0
	r, err := orchestration.Events[Receipt](ctx, "paid").Receive(ctx)
	orchestration.HandleEvent(ctx, "paid", func(ctx *orchestration.Context, r Receipt) error { return ctx.Err() })
	orchestration.HandleQuery(ctx, "stage", func(orchestration.None) (string, error) { return stage, nil })
	add := func(_ *orchestration.Context, n int) (int, error) { total += n; return total, nil }
	orchestration.HandleUpdate(ctx, "add", add, orchestration.Validate(Positive))
	orchestration.SetAttribute(ctx, "stage", "paid")
	orchestration.SetValue(ctx, "page", "https://bank.example/"+r.ID+o.ID)
	err = errors.Join(err, ctx.AwaitHandlers())
	return total, err
}

func TemporalClient(ctx context.Context, c *client.Client, o Order, r Receipt) error {
	h, err := client.Start(ctx, c, Checkout, o, client.WithID("7"))
	r, err = h.Wait(ctx)
	err = h.Raise(ctx, "paid", r)
	h, err = client.Start(ctx, c, Checkout, o, client.WithID("7"), client.WithIDPolicy(client.UseExisting), client.WithEvent("paid", r))
	stage, err := client.Query[string](ctx, h, "stage", nil)
	total, err := client.Update[int](ctx, h, "add", 3)
	h, u, err := client.StartAndUpdate[int](ctx, c, Checkout, o, "add", 3)
	err = h.Cancel(ctx, "too late")
	err = h.Terminate(ctx, "broken")
	execution, err := client.Reset(ctx, h, 17)
	page, err := c.List(ctx, client.Filter{Attributes: []client.AttributeFilter{client.AttributeIs("stage", "paid")}}, client.Page{Size: 100})
	d, err := h.Describe(ctx)
	h, err = client.Lookup[Receipt](ctx, c, "7")
	s, err := client.CreateSchedule(ctx, c, "sync", client.ScheduleSpec{Crons: []string{"0 6 * * *"}}, Checkout, o)
	err = client.CompleteActivity(ctx, c, "token", r)
	_, _, _, _, _, _, _ = stage, total, u, execution, page, d, s
	return err
}

func TemporalWorker(ctx context.Context) error {
	store, err := sqlite.Open("shop.db")
	reg := runtime.NewRegistry()
	err = runtime.AddOrchestration(reg, Checkout)
	err = runtime.AddActivity(reg, Charge)
	err = runtime.AddActivities(reg, &Shop{})
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{MaxConcurrentActivities: 50})
	c, err := rt.Client(client.Options{})
	err = rt.Shutdown(ctx)
	_ = c
	return err
}

func TemporalTests(t *testing.T, e *orchestrationtest.Env, o Order, files fs.FS, reg *runtime.Registry) {
	charges := orchestrationtest.Replace(e, Charge, func(_ context.Context, o Order) (Receipt, error) { return Receipt{ID: o.ID}, nil })
	h := orchestrationtest.Start(e, Checkout, o)
	e.After(time.Hour, func() error { return h.Raise(e.Context(), "paid", Receipt{}) })
	orchestrationtest.Replay(t, files, reg)
	_ = charges
}

func TemporalAround(ctx *orchestration.Context, o Order) error {
	r, err := orchestration.CallOrchestration(ctx, Ship, o, orchestration.WithTimeLimit(time.Hour))
	child := orchestration.StartChild(ctx, Ship, o)
	begun, err := child.Started.Get(ctx)
	_, err = orchestration.CallOrchestration(ctx, Ship, o,
		orchestration.WithClosePolicy(orchestration.CloseAbandon),
		orchestration.WithCancellation(orchestration.WaitForEnd))
	r, err = orchestration.RetryOrchestration(ctx, orchestration.RetryPolicy{MaxAttempts: 3}, Ship, o)
	r, err = orchestration.Events[Receipt](ctx, "paid").Receive(ctx, orchestration.Waiting("has it been paid?"))
	orchestration.HandleAnyEvent(ctx, func(_ *orchestration.Context, e orchestration.Incoming) error { return nil })
	_, _ = r, begun
	return err
}

func TemporalLimits(ctx context.Context, c *client.Client, o Order, r Receipt) error {
	h, err := client.Start(ctx, c, Checkout, o, client.WithTimeLimit(time.Hour))
	h, err = client.Start(ctx, c, Checkout, o, client.WithTimeLimit(time.Hour))
	h, err = client.Start(ctx, c, Checkout, o, client.WithExecutionTimeLimit(time.Hour))
	h, err = client.Start(ctx, c, Checkout, o, client.WithID("7"), client.WithIDPolicy(client.UseRunning), client.WithEvent("paid", r))
	_ = h
	return err
}

func TemporalRegistry(
	reg *runtime.Registry, secret []byte, newAround func(*orchestration.Context) orchestration.Interceptor,
	runAny func(ctx context.Context, name string, input json.RawMessage) (json.RawMessage, error),
) (runtime.Options, error) {
	err := runtime.AddActivityFallback(reg, []string{"mail.*"}, runAny)
	err = runtime.AddActivityFallback(reg, []string{"mail.*"}, runAny)
	err = runtime.AddOrchestrationInterceptor(reg, newAround)
	keys, err := codec.AES(codec.Key{ID: "2026", Bytes: secret})
	return runtime.Options{Codec: keys}, err
}
