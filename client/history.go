package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// History ranges over the events of an execution of the instance that the ID names now, in order; execution 0 is the current
// one. It ends after the first error, or after the last event that is stored by then. It reads page by page, so that a loop may
// stop early.
func (c *Client) History(ctx context.Context, id string, execution int64) iter.Seq2[HistoryEvent, error] {
	return c.history(ctx, target{id: id}, execution)
}

func (c *Client) history(ctx context.Context, t target, execution int64) iter.Seq2[HistoryEvent, error] {
	doing := fmt.Sprintf("reading the history of %s", t)
	return func(yield func(HistoryEvent, error) bool) {
		fail := func(err error) { yield(HistoryEvent{}, err) }
		if err := c.usable(ctx); err != nil {
			fail(fmt.Errorf("%s: %w", doing, err))
			return
		}
		if execution < 0 {
			fail(fmt.Errorf("%s: %w: execution %d: give 1 or more, or 0 for the current one", doing, ErrInvalid, execution))
			return
		}
		t, _, err := c.store.resolve(ctx, t, doing)
		if err != nil {
			fail(err)
			return
		}
		var last HistoryEvent
		req := provider.ReadHistoryRequest{Key: t.key, Execution: execution, From: 1}
		for more := true; more; {
			page, err := c.store.historyPage(ctx, req, doing)
			if err != nil {
				fail(err)
				return
			}
			for _, stored := range page.Events {
				if last, err = readable(stored, last); err != nil {
					fail(fmt.Errorf("%s: %w", doing, err))
					return
				}
				if !yield(last, nil) {
					return
				}
			}
			// A page is of one execution; the next page must be, too.
			req.Execution, req.From, more = page.Execution, last.ID+1, page.More
		}
	}
}

// historyPage reads events of an instance that was there a moment ago.
func (s *storage) historyPage(ctx context.Context, req provider.ReadHistoryRequest, doing string) (provider.ReadHistoryResult, error) {
	res, err := read(ctx, s, doing, s.ReadHistory, req)
	if errors.Is(err, ErrNotFound) {
		return res, fmt.Errorf("%s: %w: it has no execution %d, or was deleted; 0 is the current one", doing, ErrNotFound, req.Execution)
	}
	if err != nil {
		return res, explain(fmt.Sprintf("%s (execution %d)", doing, req.Execution), 0, err)
	}
	return res, nil
}

// readable decodes an event. A command has the time of last, the event before it.
func readable(stored provider.Event, last HistoryEvent) (HistoryEvent, error) {
	e, err := history.Decode(stored.ID, stored.Data)
	if err != nil {
		return HistoryEvent{}, err
	}
	shown := describeEvent(e)
	if shown.Time.IsZero() {
		shown.Time = last.Time
	}
	return shown, nil
}
