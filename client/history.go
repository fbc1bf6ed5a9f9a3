package client

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

// History ranges over the events of an execution of the instance that the ID names now, in order; execution 0 is the current
// one. It ends after the first error, or after the last event that is stored by then. It reads page by page, so that a loop may
// stop early.
func (c *Client) History(ctx context.Context, id string, execution int64) iter.Seq2[HistoryEvent, error] {
	return c.history(ctx, access.Target{ID: id}, execution)
}

func (c *Client) history(ctx context.Context, t access.Target, execution int64) iter.Seq2[HistoryEvent, error] {
	op := fmt.Sprintf("reading the history of %s", t)
	return func(yield func(HistoryEvent, error) bool) {
		fail := func(err error) { yield(HistoryEvent{}, err) }
		if err := c.usable(ctx); err != nil {
			fail(fmt.Errorf("%s: %w", op, err))
			return
		}
		if execution < 0 {
			fail(fmt.Errorf("%s: %w", op, badExecution(execution)))
			return
		}
		t, _, err := c.store.Resolve(ctx, t, op)
		if err != nil {
			fail(err)
			return
		}
		r := eventReader{store: c.store, op: op, key: t.Key, execution: execution}
		for from, more := int64(1), true; more; {
			page, err := r.read(ctx, from, 0)
			if err != nil {
				fail(err)
				return
			}
			for i := range page.events {
				if !yield(page.events[i], nil) {
					return
				}
			}
			from, more = r.last.ID+1, page.more
		}
	}
}

func badExecution(n int64) error {
	return fmt.Errorf("%w: execution %d: give 1 or more, or 0 for the current one", ErrInvalid, n)
}

// eventReader reads the events of one execution.
type eventReader struct {
	store     *storage
	op        string
	key       provider.UUID
	execution int64        // 0: the current one; the first read sets it, so that all pages are of one execution
	last      HistoryEvent // the last one that was read
}

// readEvents are events that were read at once.
type readEvents struct {
	events []HistoryEvent
	more   bool
	length int64 // of the execution's whole history
	status provider.Status
}

// read reads events of an instance that was there a moment ago, from one event on. It may return fewer than there are up to to, which
// is 0 for the end.
func (r *eventReader) read(ctx context.Context, from, to int64) (readEvents, error) {
	req := provider.ReadHistoryRequest{Key: r.key, Execution: r.execution, From: from, To: to}
	res, err := r.store.historyPage(ctx, req, r.op)
	if err != nil {
		return readEvents{}, err
	}
	r.execution = res.Execution
	page := readEvents{events: make([]HistoryEvent, 0, len(res.Events)), more: res.More, length: res.Length, status: res.Status}
	for _, stored := range res.Events {
		if r.last.ID != stored.ID-1 {
			if r.last, err = r.before(ctx, stored); err != nil {
				return readEvents{}, err
			}
		}
		e, err := readable(stored, r.last)
		if err != nil && len(page.events) > 0 {
			page.more = true // the next read meets the error
			break
		}
		if err != nil {
			return readEvents{}, fmt.Errorf("%s: %w", r.op, err)
		}
		r.last = e
		r.last.Execution = r.execution
		page.events = append(page.events, r.last)
	}
	return page, nil
}

// historyPage reads events of an instance that was there a moment ago.
func (s *storage) historyPage(ctx context.Context, req provider.ReadHistoryRequest, op string) (provider.ReadHistoryResult, error) {
	res, err := access.Read(ctx, s.Store, op, s.ReadHistory, req)
	if errors.Is(err, ErrNotFound) {
		return res, fmt.Errorf("%s: %w: it has no execution %d, or was deleted; 0 is the current one", op, ErrNotFound, req.Execution)
	}
	if err != nil {
		return res, access.Explain(fmt.Sprintf("%s (execution %d)", op, req.Execution), 0, err)
	}
	return res, nil
}

// readable decodes an event. A command has the time of last, the event before it.
func readable(stored provider.Event, last HistoryEvent) (HistoryEvent, error) {
	e, key, err := history.DecodeShown(stored.ID, stored.Data)
	if err != nil {
		return HistoryEvent{}, err
	}
	shown := describeEvent(e)
	shown.EncryptedWith = key
	if shown.Time.IsZero() {
		shown.Time = last.Time
	}
	return shown, nil
}

// before returns the event before another one, with the time of the last message up to it. It reads backwards, unless the other one
// is a message itself.
func (r *eventReader) before(ctx context.Context, next provider.Event) (HistoryEvent, error) {
	before := HistoryEvent{ID: next.ID - 1}
	switch e, _, err := history.DecodeShown(next.ID, next.Data); {
	case err != nil:
		return before, fmt.Errorf("%s: %w", r.op, err)
	case e.At != 0:
		return before, nil
	}
	id := next.ID
	for step := int64(16); id > 1 && before.Time.IsZero(); step *= 4 {
		from := max(1, id-step)
		for at := from; at < id; {
			res, err := r.store.historyPage(ctx, provider.ReadHistoryRequest{Key: r.key, Execution: r.execution, From: at, To: id - 1}, r.op)
			if err != nil {
				return before, err
			}
			for _, stored := range res.Events {
				if e, _, err := history.DecodeShown(stored.ID, stored.Data); err == nil && e.At != 0 {
					before.Time = provider.Time(e.At).Std()
				}
				at = stored.ID + 1
			}
			if len(res.Events) == 0 {
				break
			}
		}
		id = from
	}
	return before, nil
}
