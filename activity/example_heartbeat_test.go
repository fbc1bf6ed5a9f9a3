package activity_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Import reports each row. The next attempt continues at the row that was reported last.
func Import(ctx context.Context, rows int) (int, error) {
	row, _, err := activity.HeartbeatDetails[int](ctx)
	if err != nil {
		return 0, err
	}
	for ; row < rows; row++ {
		if err := activity.Heartbeat(ctx, row); err != nil {
			return row, err // cancelled, timed out, or the node shuts down
		}
		attempt := activity.GetInfo(ctx).Attempt
		if attempt == 1 && row == 2 {
			return row, errors.New("connection lost")
		}
		fmt.Println("attempt", attempt, "imports row", row)
	}
	return row, nil
}

func Nightly(ctx *orchestration.Context, rows int) (int, error) {
	return orchestration.CallActivity(ctx, Import, rows,
		orchestration.WithHeartbeatTimeout(time.Minute), // a silent attempt is lost
		orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Millisecond}))
}

func ExampleHeartbeat() {
	ctx := context.Background()
	store := memory.New(memory.Options{}) // or sqlite.Open, or postgres.Open
	defer store.Close()                   //nolint:errcheck // nothing to lose in memory

	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Nightly), runtime.AddActivity(reg, Import)); err != nil {
		log.Panic(err)
	}
	rt, err := runtime.Start(ctx, store, reg, runtime.Options{})
	if err != nil {
		log.Panic(err)
	}
	defer rt.Shutdown(ctx) //nolint:errcheck // the program ends

	c, err := rt.Client(client.Options{})
	if err != nil {
		log.Panic(err)
	}
	h, err := client.Start(ctx, c, Nightly, 4)
	if err != nil {
		log.Panic(err)
	}
	fmt.Println(h.Wait(ctx))
	// Output:
	// attempt 1 imports row 0
	// attempt 1 imports row 1
	// attempt 2 imports row 2
	// attempt 2 imports row 3
	// 4 <nil>
}
