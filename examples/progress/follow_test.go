package progress_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/internal/local"
	"github.com/perdure/perdure/examples/progress"
)

func Example_follow() {
	ctx := context.Background()
	c, stop := local.Start(register)
	defer stop()

	h, err := client.Start(ctx, c, progress.Import, progress.Batch{Region: "eu", Files: []string{"a.csv", "bb.csv"}}, client.WithID("import-8"))
	if err != nil {
		log.Panic(err)
	}

	// The present description and one after each change, until the instance has ended.
	last := client.Description{}
	for d, err := range h.Watch(ctx) {
		if err != nil {
			log.Panic(err)
		}
		last = d
	}
	fmt.Println(last.Status, last.HistoryLength)

	// A server answers a long poll: it returns after a change, or after 20 seconds with the same mark.
	d, mark, err := h.Follow(ctx, "", client.FollowFor(20*time.Second))
	fmt.Println(d.Status, mark != "", err)

	// All events, those to come too, across executions.
	for e, err := range h.FollowHistory(ctx, client.HistoryFollow{Across: true}) {
		if err != nil {
			log.Panic(err)
		}
		if e.Kind == "ActivityCompleted" {
			fmt.Println("event", e.ID, string(e.Output))
		}
	}

	// The last two events, the latest first.
	page, err := h.HistoryPage(ctx, client.HistoryRange{Newest: true, Max: 2})
	for _, e := range page.Events {
		fmt.Println(e.ID, e.Kind, err)
	}

	// How many failed since yesterday, as a page shows it: "17", or "10k+".
	n, err := c.CountUpTo(ctx, client.Filter{Statuses: []client.Status{client.StatusFailed}, EndedAfter: time.Now().Add(-24 * time.Hour)}, 10_000)
	fmt.Println(n, err)
	// Output:
	// Completed 6
	// Completed true <nil>
	// event 3 5
	// event 5 6
	// 6 ExecutionCompleted <nil>
	// 5 ActivityCompleted <nil>
	// 0 <nil>
}
