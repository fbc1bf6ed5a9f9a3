//nolint:ineffassign,staticcheck,wastedassign // the pages show one line after the other
package coming_test

import (
	"context"
	"database/sql"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

func DBOSLife(ctx context.Context, o Order, url string) error {
	store, err := postgres.Open(ctx, url)
	reg := runtime.NewRegistry()
	err = runtime.AddOrchestration(reg, Checkout)
	err = runtime.AddActivity(reg, Charge, runtime.OnQueue("translate"))
	limits := map[string]runtime.QueueLimit{"translate": {MaxConcurrent: 5, PerSecond: 20.0 / 60}}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{QueueLimits: limits})
	_, err = runtime.Start(ctx, store, reg, runtime.Options{MaxConcurrentActivities: 2})
	_, err = runtime.Start(ctx, store, reg, runtime.Options{PoisonLimit: 10})
	_, err = runtime.Start(ctx, store, reg, runtime.Options{Queues: []string{"translate"}})
	c, err := client.New(store, client.Options{})
	err = rt.Shutdown(ctx)
	h, err := client.StartNamed[Receipt](ctx, c, "Checkout", o)
	_ = h
	return err
}

var (
	charge    = activity.Define("charge", Charge)
	checkout2 = orchestration.Define("checkout", Checkout, orchestration.Version("2"))
)

func DBOSSteps(ctx *orchestration.Context, o Order) error {
	r, err := orchestration.CallActivity(ctx, Charge, o)
	r, err = orchestration.CallLocal(ctx, charge, o)
	_, err = orchestration.CallActivity(ctx, Charge, o, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 4}))
	policy := orchestration.RetryPolicy{InitialInterval: time.Second, MaxInterval: time.Minute, Coefficient: 2}
	_, err = orchestration.CallActivity(ctx, Charge, o, orchestration.WithRetry(policy))
	a, b := orchestration.StartActivity(ctx, Charge, o), orchestration.StartActivity(ctx, Charge, o)
	first, which, err := orchestration.Race(ctx, a, b)
	r, err = orchestration.CallOrchestration(ctx, Ship, o)
	err = ctx.Sleep(time.Hour)
	r, err = orchestration.Events[Receipt](ctx, "paid").Receive(ctx, orchestration.Within(time.Hour))
	_, err = orchestration.Raise(ctx, "7", "paid", r).Get(ctx)
	orchestration.SetValue(ctx, "page", "https://bank.example/7")
	id := ctx.Info().ID
	limited, cancel := ctx.WithTimeout(time.Hour)
	defer cancel()
	if ctx.Patched("mail-first") {
		ctx.DeprecatePatch("mail-last")
	}
	_, err = orchestration.CallActivity(ctx, Charge, o, orchestration.WithQueue("translate"))
	_, err = orchestration.CallActivity(ctx, Charge, o, orchestration.WithPriority(orchestration.PriorityHighest))
	_, err = orchestration.CallActivity(ctx, Charge, o, orchestration.WithFairnessKey("ann"))
	_, _, _, _ = first, which, id, limited
	return err
}

func DBOSActivity(ctx context.Context, _ Order) (Receipt, error) {
	key := activity.IdempotencyKey(ctx)
	if ctx.Err() != nil {
		return Receipt{}, orchestration.NonRetryable(context.Cause(ctx))
	}
	insert := func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO receipts VALUES (?)`, key)
		return err
	}
	return Receipt{ID: key}, sqlite.OnComplete(ctx, func(tx *sql.Tx) error { return insert(ctx, tx) })
}

func DBOSClient(ctx context.Context, c *client.Client, o Order, r Receipt) error {
	h, err := client.Start(ctx, c, Checkout, o, client.WithID("7"))
	r, err = h.Wait(ctx)
	d, err := h.Describe(ctx)
	h, err = client.Lookup[Receipt](ctx, c, "7")
	err = h.Raise(ctx, "paid", r, client.WithRequestID("k"))
	page, err := client.Value[string](ctx, h, "page")
	err = h.Cancel(ctx, "too late")
	execution, err := client.Reset(ctx, h, 17)
	forked, err := client.Fork(ctx, h, 17, "7-again")
	for event, err := range h.History(ctx, 0) {
		_, _ = event, err
	}
	failed := client.Filter{Statuses: []client.Status{client.StatusFailed}}
	for d, err := range c.All(ctx, failed) {
		_, _ = d, err
	}
	_, err = h.Delete(ctx)
	h, err = client.Start(ctx, c, Checkout, o, client.WithAttribute("region", "north"))
	h, err = client.Start(ctx, c, Checkout, o, client.WithID("7"), client.WithIDPolicy(client.UseExisting))
	h, err = client.Start(ctx, c, Checkout, o, client.WithDelay(time.Hour))
	h, err = client.Start(ctx, c, checkout2, o, client.WithVersion("2"))
	s, err := client.EnsureSchedule(ctx, c, "sync", client.ScheduleSpec{Crons: []string{"0 6 * * *"}, Zone: "Europe/Berlin"}, Checkout, o)
	run, err := s.Trigger(ctx)
	err = s.Pause(ctx, "maintenance")
	_, _, _, _, _ = d, page, execution, forked, run
	return err
}
