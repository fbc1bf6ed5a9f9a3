package retry_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/examples/retry"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func register(reg *runtime.Registry) {
	err := errors.Join(
		runtime.AddOrchestration(reg, retry.Pay),
		runtime.AddOrchestration(reg, retry.Impatient),
		runtime.AddOrchestration(reg, retry.Bounded),
		runtime.AddOrchestration(reg, retry.Patient),
		runtime.AddOrchestration(reg, retry.Send),
		runtime.AddOrchestration(reg, retry.Order),
		retry.Register(reg),
		runtime.AddActivity(reg, retry.Charge),
		runtime.AddActivity(reg, retry.Hang),
		runtime.AddActivity(reg, retry.Ask),
		runtime.AddError(reg, "no-card", retry.ErrNoCard),
	)
	if err != nil {
		log.Panic(err)
	}
}

func call[In, Out any](c *client.Client, fn func(*orchestration.Context, In) (Out, error), in In) (Out, error) {
	h, err := client.Start(context.Background(), c, fn, in)
	if err != nil {
		log.Panic(err)
	}
	return h.Wait(context.Background())
}

func Example() {
	c, stop := local.Start(register)
	defer stop()

	fmt.Println(call(c, retry.Pay, "card 7"))
	_, err := call(c, retry.Pay, "")
	fmt.Println(errors.Is(err, retry.ErrNoCard))
	// Output:
	// paid with card 7 <nil>
	// true
}

func Example_busy() {
	c, stop := local.Start(register)
	defer stop()

	fmt.Println(call(c, retry.Patient, "how many"))
	// Output: how many? 42 <nil>
}

func Example_defaults() {
	c, stop := local.Start(register)
	defer stop()

	fmt.Println(call(c, retry.Send, "parcel 3"))
	fmt.Println(call(c, retry.Order, "card 7"))
	// Output:
	// shipped parcel 3 <nil>
	// paid with card 7, shipped parcel 7 <nil>
}

func Example_timeouts() {
	c, stop := local.Start(register)
	defer stop()

	fmt.Println(call(c, retry.Impatient, orchestration.None{}))
	fmt.Println(call(c, retry.Bounded, orchestration.None{}))
	// Output:
	// gave up after two attempts <nil>
	// gave up after 50 ms <nil>
}
