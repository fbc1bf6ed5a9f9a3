package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/fanout"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func register(reg *runtime.Registry) {
	err := errors.Join(
		runtime.AddOrchestration(reg, fanout.Album), runtime.AddOrchestration(reg, fanout.Cheapest),
		runtime.AddOrchestration(reg, fanout.Limited), runtime.AddOrchestration(reg, fanout.Watched),
		runtime.AddOrchestration(reg, fanout.Framed),
		runtime.AddActivity(reg, fanout.Resize), runtime.AddActivity(reg, fanout.Quote),
	)
	if err != nil {
		log.Panic(err)
	}
}

func call[Out any](c *client.Client, fn func(*orchestration.Context, []string) (Out, error), in ...string) (Out, error) {
	h, err := client.Start(context.Background(), c, fn, in, client.WithIDPolicy(client.ReplaceEnded), client.WithID("x"))
	if err != nil {
		log.Panic(err)
	}
	return h.Wait(context.Background())
}

func Example() {
	c, stop := local.Start(register)
	defer stop()

	fmt.Println(call(c, fanout.Album, "cat", "dog"))
	_, err := call(c, fanout.Album, "cat", "", "")
	fmt.Println(err)
	fmt.Println(call(c, fanout.Cheapest, "slow", "quick"))
	fmt.Println(call(c, fanout.Limited, "a", "b", "c", "d", "e"))
	fmt.Println(call(c, fanout.Framed, "cat"))
	_, err = call(c, fanout.Framed, "")
	fmt.Println(err)
	fmt.Println(call(c, fanout.Watched, "cat"))
	// Output:
	// [small cat small dog] <nil>
	// instance "x" ended as Failed: no picture
	// no picture
	// quick: 42.00 <nil>
	// [small a small b small c small d small e] <nil>
	// small cat, frames: 42.00 <nil>
	// instance "x" ended as Failed: no picture
	// 1 pictures <nil>
}
