package approval_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/approval"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func register(reg *runtime.Registry) {
	if err := errors.Join(runtime.AddOrchestration(reg, approval.Expense), runtime.AddOrchestration(reg, approval.Basket)); err != nil {
		log.Panic(err)
	}
}

func Example() {
	ctx := context.Background()
	c, stop := local.Start(register)
	defer stop()

	h, err := client.Start(ctx, c, approval.Expense, 4200, client.WithID("expense-7"))
	if err != nil {
		log.Panic(err)
	}
	// A web handler, a command line or another process can raise events: by handle, or by ID.
	err = c.Raise(ctx, "expense-7", "decision", approval.Decision{By: "ann", Approved: true},
		client.WithRequestID("click-1"))
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: approved by ann <nil>
}

func Example_select() {
	ctx := context.Background()
	c, stop := local.Start(register)
	defer stop()

	h, err := client.Start(ctx, c, approval.Basket, orchestration.None{})
	if err != nil {
		log.Panic(err)
	}
	err = errors.Join(
		h.Raise(ctx, "line", approval.Line{Item: "lamp", Count: 1}),
		h.Raise(ctx, "line", approval.Line{Item: "bulb", Count: 4}),
		h.Raise(ctx, "line", approval.Line{Item: "bulb", Count: 2}),
		h.Raise(ctx, "checkout", orchestration.None{}),
	)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: map[bulb:6 lamp:1] <nil>
}
