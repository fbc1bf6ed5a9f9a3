package heartbeat_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/heartbeat"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/runtime"
)

func Example() {
	ctx := context.Background()
	importer := &heartbeat.Importer{Row: func(ctx context.Context, n int) error {
		attempt := activity.GetInfo(ctx).Attempt
		fmt.Println("attempt", attempt, "row", n)
		if attempt == 1 && n == 2 {
			return heartbeat.ErrAway
		}
		return nil
	}}
	c, stop := local.Start(func(reg *runtime.Registry) {
		if err := errors.Join(runtime.AddOrchestration(reg, heartbeat.Nightly), runtime.AddActivity(reg, importer.Import)); err != nil {
			log.Panic(err)
		}
	})
	defer stop()

	h, err := client.Start(ctx, c, heartbeat.Nightly, 3)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output:
	// attempt 1 row 1
	// attempt 1 row 2
	// attempt 2 row 2
	// attempt 2 row 3
	// 3 <nil>
}

func Example_timeout() {
	ctx := context.Background()
	importer := &heartbeat.Importer{Row: func(ctx context.Context, n int) error {
		attempt := activity.GetInfo(ctx).Attempt
		fmt.Println("attempt", attempt, "row", n)
		if attempt == 1 && n == 2 {
			<-ctx.Done() // the source does not respond
			fmt.Println(context.Cause(ctx))
			return context.Cause(ctx)
		}
		return nil
	}}
	c, stop := local.Start(func(reg *runtime.Registry) {
		if err := errors.Join(runtime.AddOrchestration(reg, heartbeat.Watched), runtime.AddActivity(reg, importer.Import)); err != nil {
			log.Panic(err)
		}
	})
	defer stop()

	h, err := client.Start(ctx, c, heartbeat.Watched, 3)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output:
	// attempt 1 row 1
	// attempt 1 row 2
	// activity: heartbeat timeout
	// attempt 2 row 2
	// attempt 2 row 3
	// 3 <nil>
}
