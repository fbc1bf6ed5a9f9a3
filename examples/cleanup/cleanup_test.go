package cleanup_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/cleanup"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

func with(hotel *cleanup.Hotel) func(*runtime.Registry) {
	return func(reg *runtime.Registry) {
		err := errors.Join(
			runtime.AddOrchestration(reg, cleanup.Trip), runtime.AddOrchestration(reg, cleanup.Fastest),
			runtime.AddOrchestration(reg, cleanup.Patience), runtime.AddActivity(reg, hotel.Queue),
			runtime.AddActivity(reg, hotel.Book), runtime.AddActivity(reg, hotel.Cancel),
		)
		if err != nil {
			log.Panic(err)
		}
	}
}

func Example_failure() {
	ctx := context.Background()
	c, stop := local.Start(with(&cleanup.Hotel{Log: func(text string) { fmt.Println(text) }}))
	defer stop()

	h, err := client.Start(ctx, c, cleanup.Trip, []string{"room", "flight", "moon"}, client.WithID("trip-1"))
	if err != nil {
		log.Panic(err)
	}
	_, err = h.Wait(ctx)
	fmt.Println(err)
	// Output:
	// book room
	// book flight
	// cancel booking of flight
	// cancel booking of room
	// instance "trip-1" ended as Failed: booking moon: no rocket
}

func Example_cancel() {
	ctx := context.Background()
	booked := make(chan string, 8)
	c, stop := local.Start(with(&cleanup.Hotel{Log: func(text string) { booked <- text }}))
	defer stop()

	h, err := client.Start(ctx, c, cleanup.Trip, []string{"room"}, client.WithID("trip-2"))
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(<-booked)
	if err := h.Cancel(ctx, "the customer is ill"); err != nil {
		log.Panic(err)
	}
	_, err = h.Wait(ctx)
	fmt.Println(<-booked)
	fmt.Println(errors.Is(err, orchestration.ErrCancelled))
	fmt.Println(err)
	// Output:
	// book room
	// cancel booking of room
	// true
	// instance "trip-2" ended as Cancelled: cancelled: the customer is ill
}

func Example_scope() {
	ctx := context.Background()
	c, stop := local.Start(with(&cleanup.Hotel{Log: func(string) {}}))
	defer stop()

	h, err := client.Start(ctx, c, cleanup.Fastest, []string{"room"})
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output: booking of room <nil>
}

func Example_waitForEnd() {
	ctx := context.Background()
	c, stop := local.Start(with(&cleanup.Hotel{Log: func(text string) { fmt.Println(text) }}))
	defer stop()

	h, err := client.Start(ctx, c, cleanup.Patience, "a table")
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output:
	// queue for a table
	// left the queue for a table <nil>
}
