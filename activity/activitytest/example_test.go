package activitytest_test

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/activity/activitytest"
)

// Import stores rows and remembers in its heartbeats how many it has stored.
func Import(ctx context.Context, rows []string) (int, error) {
	done, _, err := activity.HeartbeatDetails[int](ctx)
	if err != nil {
		return 0, err
	}
	for done < len(rows) {
		done++
		if err := activity.Heartbeat(ctx, done); err != nil {
			return done, err
		}
	}
	return done, nil
}

func Example() {
	// The attempt before this one stored one row and was lost with its node.
	ctx, attempt := activitytest.New(context.Background(), activitytest.Options{Details: 1})
	n, err := Import(ctx, []string{"a", "b", "c"})
	fmt.Println(n, err)
	for _, details := range attempt.Heartbeats() {
		fmt.Println("heartbeat", string(details))
	}
	// Output:
	// 3 <nil>
	// heartbeat 2
	// heartbeat 3
}
