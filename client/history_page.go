package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/provider"
)

const (
	// maxHistoryPage is the maximum of HistoryRange.Max, and maxHistoryScan how many events a page looks at.
	maxHistoryPage = 1_000
	maxHistoryScan = 5_000
	// maxHistoryHeld ends a page whose events hold so many bytes of payloads and texts.
	maxHistoryHeld = 16 << 20
)

// HistoryRange selects events of one execution.
type HistoryRange struct {
	Execution int64 // 0: the current one
	From      int64 // the first event; 0: 1
	To        int64 // the last event; 0: the end
	// Newest begins with the latest event and goes back.
	Newest bool
	Kinds  []string // any of them; empty: all. See HistoryKinds
	Failed bool     // only events that hold a failure
	Max    int      // events on the page, 1 to 1,000; 0: 100
	// Wait is how long to wait for an event that matches while there is none after From and the execution goes on, at most 30 s. Not
	// with Newest.
	Wait time.Duration
}

// HistoryPage is a part of the history of one execution.
type HistoryPage struct {
	Execution int64          `json:"execution"`
	Status    Status         `json:"status"` // of the execution
	Length    int64          `json:"length"` // stored events of the execution
	Events    []HistoryEvent `json:"events"` // in order; with Newest the latest first
	// More reports that there are further events in the range. Next is then the From of the next page, with Newest its To. Without
	// More it is the event that is stored next.
	More bool  `json:"more"`
	Next int64 `json:"next"`
}

// HistoryKinds returns the kinds of events, which HistoryEvent.Kind has and HistoryRange.Kinds takes.
func HistoryKinds() []string { return history.KindNames() }

// HistoryPage returns events of the instance that the ID names now. A page may have fewer events than Max while there are more: it
// looks at 5,000 events at most, and ends with the event with which its payloads have 16 MiB.
func (c *Client) HistoryPage(ctx context.Context, id string, r HistoryRange) (HistoryPage, error) {
	return c.pageOfHistory(ctx, access.Target{ID: id}, r)
}

// HistoryPage returns events of the instance. See Client.HistoryPage.
func (h Handle[Out]) HistoryPage(ctx context.Context, r HistoryRange) (HistoryPage, error) {
	if err := h.usable(ctx); err != nil {
		return HistoryPage{}, err
	}
	return h.c.pageOfHistory(ctx, h.t, r)
}

func (c *Client) pageOfHistory(ctx context.Context, t access.Target, r HistoryRange) (HistoryPage, error) {
	op := fmt.Sprintf("reading the history of %s", t)
	if err := cmp.Or(c.usable(ctx), r.check()); err != nil {
		return HistoryPage{}, fmt.Errorf("%s: %w", op, err)
	}
	t, _, err := c.store.Resolve(ctx, t, op)
	if err != nil {
		return HistoryPage{}, err
	}
	r.Max, r.From = cmp.Or(r.Max, access.DefaultPage), cmp.Or(r.From, 1)
	events := eventReader{store: c.store, op: op, key: t.Key, execution: r.Execution}
	if r.Newest {
		return r.backward(ctx, &events)
	}
	page, err := r.forward(ctx, &events)
	if err != nil || len(page.Events) > 0 || page.More || r.Wait == 0 {
		return page, err
	}
	return r.await(ctx, &events, page)
}

// check refuses a range that cannot be read.
func (r *HistoryRange) check() error {
	switch {
	case r.Execution < 0:
		return badExecution(r.Execution)
	case r.From < 0 || r.To < 0:
		return fmt.Errorf("%w: events %d to %d: give 1 or more, or 0 for the first and the last one", ErrInvalid, r.From, r.To)
	case r.To > 0 && r.From > r.To:
		return fmt.Errorf("%w: events %d to %d: give the first one first", ErrInvalid, r.From, r.To)
	case r.Max < 0 || r.Max > maxHistoryPage:
		return fmt.Errorf("%w: %d events on a page: give 1 to %d, or 0 for %d", ErrInvalid, r.Max, maxHistoryPage, access.DefaultPage)
	case r.Wait < 0 || r.Wait > waitSlice:
		return fmt.Errorf("%w: wait %v: give at most %v, or 0 not to wait", ErrInvalid, r.Wait, waitSlice)
	case r.Wait > 0 && r.Newest:
		return fmt.Errorf("%w: Wait with Newest: leave one out, because the newest event is there at once", ErrInvalid)
	}
	for _, kind := range r.Kinds {
		if _, ok := history.ParseKind(kind); !ok {
			return fmt.Errorf("%w: there is no kind of event %s: give one of HistoryKinds, such as ActivityFailed", ErrInvalid, check.Quote(kind))
		}
	}
	return nil
}

// matches reports whether the range selects an event that is between its bounds.
func (r *HistoryRange) matches(e *HistoryEvent) bool {
	return (len(r.Kinds) == 0 || slices.Contains(r.Kinds, e.Kind)) && (!r.Failed || e.Failure != nil)
}

// chunk returns how many events to read at once for a page that has some already.
func (r *HistoryRange) chunk(page *HistoryPage) int64 {
	if len(r.Kinds) > 0 || r.Failed {
		return maxHistoryPage
	}
	return int64(r.Max - len(page.Events))
}

// note sets what a page says about the execution.
func (p *HistoryPage) note(events *eventReader, read *readEvents) {
	p.Execution, p.Status, p.Length = events.execution, Status(read.status.String()), read.length
}

// forward reads a page in order.
func (r *HistoryRange) forward(ctx context.Context, events *eventReader) (HistoryPage, error) {
	page := HistoryPage{Events: []HistoryEvent{}, Next: r.From}
	held := 0
	for scanned := 0; ; {
		to := page.Next + r.chunk(&page) - 1
		if r.To > 0 {
			to = min(to, r.To)
		}
		read, err := events.read(ctx, page.Next, to)
		if err != nil {
			return HistoryPage{}, err
		}
		page.note(events, &read)
		for i := range read.events {
			if e := &read.events[i]; r.matches(e) {
				page.Events = append(page.Events, *e)
				held += e.held()
			}
			page.Next = read.events[i].ID + 1
			scanned++
			if len(page.Events) == r.Max || held >= maxHistoryHeld {
				break
			}
		}
		end := page.Length
		if r.To > 0 {
			end = min(end, r.To)
		}
		page.More = page.Next <= end
		if !page.More || len(page.Events) == r.Max || held >= maxHistoryHeld || scanned >= maxHistoryScan || len(read.events) == 0 {
			return page, nil
		}
	}
}

// backward reads a page from the end on.
func (r *HistoryRange) backward(ctx context.Context, events *eventReader) (HistoryPage, error) {
	page := HistoryPage{Events: []HistoryEvent{}}
	head, err := events.read(ctx, 1, 1)
	if err != nil {
		return HistoryPage{}, err
	}
	page.note(events, &head)
	page.Next = page.Length
	if r.To > 0 {
		page.Next = min(page.Next, r.To)
	}
	held, cut := 0, false
	for scanned := int64(0); page.Next >= r.From && len(page.Events) < r.Max && scanned < maxHistoryScan && !cut; {
		from := max(r.From, page.Next-r.chunk(&page)+1)
		list, reached, err := events.span(ctx, from, page.Next, r, maxHistoryHeld-held)
		if err != nil {
			return HistoryPage{}, err
		}
		scanned += page.Next - from + 1
		page.Next, cut = reached-1, reached > from
		for _, e := range slices.Backward(list) {
			page.Events = append(page.Events, e)
			held += e.held()
			if len(page.Events) == r.Max {
				page.Next = e.ID - 1
				break
			}
		}
	}
	page.More = page.Next >= r.From
	return page, nil
}

// span reads the events of a range that match, as many of the last ones as have room, and one at least. reached is the event before which it has kept
// none.
func (r *eventReader) span(ctx context.Context, from, to int64, of *HistoryRange, room int) (list []HistoryEvent, reached int64, err error) {
	reached = from
	for held := 0; from <= to; {
		page, err := r.read(ctx, from, to)
		if err != nil {
			return nil, 0, err
		}
		if len(page.events) == 0 { // pruned, or reset since its length was read
			break
		}
		for i := range page.events {
			if e := &page.events[i]; of.matches(e) {
				list = append(list, *e)
				held += e.held()
			}
			for held > room && len(list) > 1 {
				held -= list[0].held()
				list[0] = HistoryEvent{} // so that it can be freed
				list = list[1:]
				reached = list[0].ID
			}
		}
		from = r.last.ID + 1
	}
	return list, reached, nil
}

// held returns how many bytes the payloads and texts of an event have.
func (h *HistoryEvent) held() int {
	n := len(h.Input) + len(h.Output)
	if f := h.Failure; f != nil {
		n += len(f.Message) + len(f.Details)
	}
	return n
}

// await waits for an event behind a page that has none.
func (r *HistoryRange) await(ctx context.Context, events *eventReader, page HistoryPage) (_ HistoryPage, err error) {
	until := time.Now().Add(r.Wait)
	req := provider.GetRequest{Key: events.key, WithMark: true}
	for {
		if known, _ := provider.ParseStatus(string(page.Status)); known.Ended() || len(page.Events) > 0 || page.More {
			return page, nil
		}
		if req.Mark != "" {
			if req.Wait = time.Until(until); req.Wait <= 0 {
				return page, nil
			}
		}
		res, err := events.store.waited(ctx, events.op, req)
		if err != nil {
			return HistoryPage{}, err
		}
		// Events stored before the mark are read now, and later ones change the mark.
		req.Mark = res.Mark
		r.From = page.Next
		if page, err = r.forward(ctx, events); err != nil {
			return HistoryPage{}, err
		}
	}
}
