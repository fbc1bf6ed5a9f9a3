package progress_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/progress"
	"github.com/perdure/perdure/orchestrationtest"
)

// watch returns the last description of an import.
func watch(ctx context.Context, h client.Handle[int]) (last client.Description, err error) {
	// The present description and one after each change, until the instance has ended.
	for d, err := range h.Watch(ctx) {
		if err != nil {
			return last, err
		}
		last = d
	}
	return last, nil
}

// outputs returns the outputs of the activities of an import.
func outputs(ctx context.Context, h client.Handle[int]) (all []string, err error) {
	// All events, those to come too, across executions.
	for e, err := range h.FollowHistory(ctx, client.HistoryFollow{Across: true}) {
		if err != nil {
			return nil, err
		}
		if e.Kind == "ActivityCompleted" {
			all = append(all, string(e.Output))
		}
	}
	return all, nil
}

// failed returns how many have failed since yesterday, as a page shows it: "17", or "10k+".
func failed(ctx context.Context, c *client.Client, now time.Time) (string, error) {
	n, err := c.CountUpTo(ctx, client.Filter{Statuses: []client.Status{client.StatusFailed}, EndedAfter: now.Add(-24 * time.Hour)}, 10_000)
	return n.String(), err
}

func TestFollow(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		ctx := e.Context()
		orchestrationtest.Replace(e, progress.Load, progress.Load, orchestrationtest.Delay(time.Hour))
		h := orchestrationtest.Start(e, progress.Import, batch())
		if last, err := watch(ctx, h.Handle); last.Status != client.StatusCompleted || last.HistoryLength != 6 || err != nil {
			t.Errorf("%v with %d events, %v", last.Status, last.HistoryLength, err)
		}

		// A server answers a long poll: it returns after a change, or after 20 seconds with the same mark.
		d, mark, err := h.Follow(ctx, "", client.FollowFor(20*time.Second))
		if d.Status != client.StatusCompleted || mark == "" || err != nil {
			t.Errorf("%v, mark %q, %v", d.Status, mark, err)
		}
		if all, err := outputs(ctx, h.Handle); !slices.Equal(all, []string{"5", "6"}) || err != nil {
			t.Errorf("%q, %v", all, err)
		}

		// The last two events, the latest first.
		page, err := h.HistoryPage(ctx, client.HistoryRange{Newest: true, Max: 2})
		if len(page.Events) != 2 || page.Events[0].Kind != "ExecutionCompleted" || page.Events[1].ID != 5 || err != nil {
			t.Errorf("%+v, %v", page.Events, err)
		}
		if n, err := failed(ctx, e.Client(), time.Now()); n != "0" || err != nil {
			t.Errorf("%s have failed, %v", n, err)
		}
	})
}
