package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Collect asks a bank.
func Collect(ctx context.Context, invoice string) (string, error) {
	<-ctx.Done() // the bank does not respond
	return "", ctx.Err()
}

// Bill collects an invoice.
func Bill(ctx *orchestration.Context, invoice string) (string, error) {
	return orchestration.CallActivity(ctx, Collect, invoice, orchestration.WithQueue("bank"))
}

// settle completes the activity of an invoice that was paid in cash.
func settle(ctx context.Context, h client.Handle[string]) (string, error) {
	d, err := h.Describe(ctx)
	for err == nil && (len(d.Activities) == 0 || d.Activities[0].State != client.ActivityRunning) {
		d, err = h.Describe(ctx)
	}
	if err != nil {
		return "", err
	}
	shown := d.Ref(&d.Activities[0])
	if err := h.Activity(shown).Complete(ctx, "paid in cash", "receipt 17"); err != nil {
		return "", err
	}
	return h.Wait(ctx)
}

func ExamplePendingActivity() {
	ctx := context.Background()
	store := memory.New(memory.Options{})
	defer func() { _ = store.Close() }()
	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Bill), runtime.AddActivity(reg, Collect, runtime.OnQueue("bank"))); err != nil {
		log.Panic(err)
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
	if err != nil {
		log.Panic(err)
	}
	defer func() { _ = rt.Shutdown(ctx) }()
	c, err := rt.Client(client.Options{})
	if err != nil {
		log.Panic(err)
	}
	h, err := client.Start(ctx, c, Bill, "invoice 4711")
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(settle(ctx, h))
	// Output: paid in cash <nil>
}
