package client

import (
	"context"
	"fmt"
	"iter"

	"github.com/perdure/perdure/internal/access"
)

// HistoryFollow selects what FollowHistory returns.
type HistoryFollow struct {
	Execution int64    // 0: the current one
	From      int64    // the first event; 0: 1
	Kinds     []string // any of them; empty: all. See HistoryKinds
	Failed    bool     // only events that hold a failure
	// Across goes on with the next execution after a continue-as-new or a reset. HistoryEvent.Execution tells them apart.
	Across bool
}

// FollowHistory ranges over the events of the instance that the ID names now: those that are stored, and then each one as it is
// stored, within a second. It ends after the first error, or when the execution is over, with Across the instance. It reads at most
// ten times a second.
//
// A server that serves it by long polls uses HistoryPage with Wait.
func (c *Client) FollowHistory(ctx context.Context, id string, f HistoryFollow) iter.Seq2[HistoryEvent, error] {
	return c.followHistory(ctx, access.Target{ID: id}, f)
}

// FollowHistory ranges over the events of the instance, those to come, too. See Client.FollowHistory.
func (h Handle[Out]) FollowHistory(ctx context.Context, f HistoryFollow) iter.Seq2[HistoryEvent, error] {
	if err := h.usable(ctx); err != nil {
		return func(yield func(HistoryEvent, error) bool) { yield(HistoryEvent{}, err) }
	}
	return h.c.followHistory(ctx, h.t, f)
}

func (c *Client) followHistory(ctx context.Context, t access.Target, f HistoryFollow) iter.Seq2[HistoryEvent, error] {
	op := fmt.Sprintf("following the history of %s", t)
	return func(yield func(HistoryEvent, error) bool) {
		fail := func(err error) { yield(HistoryEvent{}, err) }
		if err := c.usable(ctx); err != nil {
			fail(fmt.Errorf("%s: %w", op, err))
			return
		}
		t, _, err := c.store.Resolve(ctx, t, op)
		if err != nil {
			fail(err)
			return
		}
		r := HistoryRange{Execution: f.Execution, From: f.From, Kinds: f.Kinds, Failed: f.Failed, Max: maxHistoryPage, Wait: waitSlice}
		for {
			page, err := c.pageOfHistory(ctx, t, r)
			if err != nil {
				fail(err)
				return
			}
			for _, e := range page.Events {
				if !yield(e, nil) {
					return
				}
			}
			r.Execution, r.From = page.Execution, page.Next
			switch {
			case page.More || !page.Status.Ended():
			case f.Across && (page.Status == StatusContinuedAsNew || page.Status == StatusReset):
				r.Execution, r.From = page.Execution+1, 1
			default:
				return
			}
		}
	}
}
