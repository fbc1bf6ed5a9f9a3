// Shop is the program of the tutorial: an order that survives kill -9.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// Order is a customer's order.
type Order struct {
	Item  string
	Cents int
}

// Approval is the event that an order waits for.
type Approval struct{ By string }

// Receipt is the result of an order.
type Receipt struct{ Shelf, Payment, Parcel string }

// Reserve, Charge and Ship have effects outside of the program, so they are activities.

func Reserve(_ context.Context, o Order) (string, error) {
	fmt.Println("  reserve", o.Item)
	return "shelf 7", nil
}

func Charge(_ context.Context, o Order) (string, error) {
	fmt.Println("  charge", o.Cents, "cents")
	return "payment 1", nil
}

func Ship(_ context.Context, o Order) (string, error) {
	fmt.Println("  ship", o.Item)
	return "parcel 99", nil
}

// Sell takes an order from the shelf to the carrier. It is an orchestration.
func Sell(ctx *orchestration.Context, o Order) (Receipt, error) {
	var r Receipt
	var err error
	retry := orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 5})

	if r.Shelf, err = orchestration.CallActivity(ctx, Reserve, o, retry); err != nil {
		return r, err
	}
	approvals := orchestration.Events[Approval](ctx, "approval")
	approval, err := approvals.Receive(ctx, orchestration.Within(24*time.Hour))
	if err != nil {
		return r, err
	}
	ctx.Logger().Info("approved", "by", approval.By)

	if r.Payment, err = orchestration.CallActivity(ctx, Charge, o, retry); err != nil {
		return r, err
	}
	if err := ctx.Sleep(10 * time.Second); err != nil { // until the carrier comes
		return r, err
	}
	r.Parcel, err = orchestration.CallActivity(ctx, Ship, o, retry)
	return r, err
}

func main() {
	ctx := context.Background()
	store, err := sqlite.Open("shop.db")
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) > 1 && os.Args[1] == "approve" {
		err = approve(ctx, store)
	} else {
		err = work(ctx, store)
	}
	if err := errors.Join(err, store.Close()); err != nil {
		log.Fatal(err)
	}
}

// approve sends an event. It runs in a process of its own.
func approve(ctx context.Context, store *sqlite.Provider) error {
	c, err := client.New(store, client.Options{})
	if err != nil {
		return err
	}
	return c.Raise(ctx, "order-42", "approval", Approval{By: "ann"})
}

// work runs orchestrations and waits for one.
func work(ctx context.Context, store *sqlite.Provider) error {
	reg := runtime.NewRegistry()
	err := errors.Join(
		runtime.AddOrchestration(reg, Sell),
		runtime.AddActivity(reg, Reserve),
		runtime.AddActivity(reg, Charge),
		runtime.AddActivity(reg, Ship),
	)
	if err != nil {
		return err
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
	if err != nil {
		return err
	}
	fmt.Println("process", os.Getpid())

	c, err := rt.Client(client.Options{})
	if err != nil {
		return errors.Join(err, rt.Shutdown(ctx))
	}
	h, err := client.Start(ctx, c, Sell, Order{Item: "lamp", Cents: 4200},
		client.WithID("order-42"), client.WithIDPolicy(client.UseExisting))
	if err != nil {
		return errors.Join(err, rt.Shutdown(ctx))
	}
	receipt, err := h.Wait(ctx)
	fmt.Printf("%+v\n", receipt)
	return errors.Join(err, rt.Shutdown(ctx))
}
