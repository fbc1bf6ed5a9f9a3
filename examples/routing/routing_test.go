package routing_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/routing"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Two nodes for films, one for mails and one for turns share a store.
func Example() {
	ctx := context.Background()
	store := memory.New(memory.Options{})
	var stop []func() error
	defer func() {
		for _, end := range slices.Backward(stop) {
			if err := end(); err != nil {
				log.Print(err)
			}
		}
	}()
	stop = append(stop, store.Close)
	mails := runtime.Options{Queues: []string{"mail"}, QueueLimits: routing.Limits()}
	for _, opts := range []runtime.Options{routing.FilmNode(), routing.FilmNode(), mails, routing.TurnNode()} {
		dir, err := os.MkdirTemp("", "films")
		if err != nil {
			log.Panic(err)
		}
		stop = append(stop, func() error { return os.RemoveAll(dir) })
		reg := runtime.NewRegistry()
		if err := routing.Register(reg, &routing.Films{Dir: dir}); err != nil {
			log.Panic(err)
		}
		rt, err := runtime.Start(ctx, store, reg, opts)
		if err != nil {
			log.Panic(err)
		}
		stop = append(stop, func() error { return rt.Shutdown(ctx) })
	}
	c, err := client.New(store, client.Options{})
	if err != nil {
		log.Panic(err)
	}

	for _, film := range []string{"metropolis", "m"} {
		h, err := client.Start(ctx, c, routing.Produce, film)
		if err != nil {
			log.Panic(err)
		}
		fmt.Println(h.Wait(ctx))
	}
	h, err := client.Start(ctx, c, routing.Confirm, routing.Order{Shop: "flowers", Urgent: true})
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output:
	// 17 <nil>
	// 8 <nil>
	// sent <nil>
}
