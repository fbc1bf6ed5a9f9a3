package failures_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/failures"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func checkout(c *client.Client, cents int) (string, error) {
	h, err := client.Start(context.Background(), c, failures.Checkout, cents)
	if err != nil {
		log.Panic(err)
	}
	return h.Wait(context.Background())
}

func Example() {
	c, stop := local.Start(func(reg *runtime.Registry) {
		if err := failures.Register(reg); err != nil {
			log.Panic(err)
		}
	})
	defer stop()

	fmt.Println(checkout(c, 600))

	_, err := checkout(c, 1200)
	limit, ok := errors.AsType[*failures.LimitError](err)
	fmt.Println(ok, limit.Limit, limit.Asked)

	_, err = checkout(c, -1)
	fmt.Println(errors.Is(err, orchestration.ErrPanic))
	// Output:
	// please use another card <nil>
	// true 1000 1200
	// true
}

// An unregistered error keeps its message, its type name and its causes.
func Example_unregistered() {
	c, stop := local.Start(func(reg *runtime.Registry) {
		if err := errors.Join(runtime.AddOrchestration(reg, failures.Checkout), runtime.AddActivity(reg, failures.Charge)); err != nil {
			log.Panic(err)
		}
	})
	defer stop()

	_, err := checkout(c, 1200)
	_, found := errors.AsType[*failures.LimitError](err)
	stored, ok := errors.AsType[*orchestration.Error](err)
	fmt.Println(found, ok)
	fmt.Println(stored.Type, "-", stored.Message)
	// Output:
	// false true
	// *failures.LimitError - 1200 is over the limit of 1000
}
