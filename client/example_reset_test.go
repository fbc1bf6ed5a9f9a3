package client_test

import (
	"context"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Quote prices an item after an approval.
func Quote(ctx *orchestration.Context, item string) (string, error) {
	a, err := orchestration.Events[Approval](ctx, "approval").Receive(ctx)
	if err != nil {
		return "", err
	}
	return item + " for " + a.By, nil
}

// firstEvent returns the number of the first event of a kind, in the current execution.
func firstEvent(ctx context.Context, h client.Handle[string], kind string) (int64, error) {
	for e, err := range h.History(ctx, 0) {
		if err != nil {
			return 0, err
		}
		if e.Kind == kind {
			return e.ID, nil
		}
	}
	return 0, fmt.Errorf("%s has no %s", h.ID(), kind)
}

// again takes an instance back to before its approval, and gives it another one.
func again(ctx context.Context, h client.Handle[string]) (string, error) {
	at, err := firstEvent(ctx, h, "EventReceived")
	if err != nil {
		return "", err
	}
	if _, err := client.Reset(ctx, h, at, client.DropLater(), client.WithReason("approved by mistake")); err != nil {
		return "", err
	}
	if err := h.Raise(ctx, "approval", Approval{By: "bob"}); err != nil {
		return "", err
	}
	return h.Wait(ctx)
}

// other starts another instance from the same point, with the instance as it is.
func other(ctx context.Context, h client.Handle[string]) (string, error) {
	at, err := firstEvent(ctx, h, "EventReceived")
	if err != nil {
		return "", err
	}
	fork, err := client.Fork(ctx, h, at, h.ID()+"-other")
	if err != nil {
		return "", err
	}
	if err := fork.Raise(ctx, "approval", Approval{By: "cleo"}); err != nil {
		return "", err
	}
	return fork.Wait(ctx)
}

func ExampleReset() {
	ctx := context.Background()
	store := memory.New(memory.Options{})
	defer store.Close() //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, Quote); err != nil {
		log.Panic(err)
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
	if err != nil {
		log.Panic(err)
	}
	defer rt.Shutdown(ctx) //nolint:errcheck // nothing runs

	c, err := rt.Client(client.Options{})
	if err != nil {
		log.Panic(err)
	}
	h, err := client.Start(ctx, c, Quote, "tea", client.WithID("quote-1"))
	if err != nil {
		log.Panic(err)
	}
	if err := h.Raise(ctx, "approval", Approval{By: "ann"}); err != nil {
		log.Panic(err)
	}
	for _, step := range []func(context.Context, client.Handle[string]) (string, error){
		func(ctx context.Context, h client.Handle[string]) (string, error) { return h.Wait(ctx) }, again, other,
	} {
		got, err := step(ctx, h)
		fmt.Println(got, err)
	}
	// Output:
	// tea for ann <nil>
	// tea for bob <nil>
	// tea for cleo <nil>
}
