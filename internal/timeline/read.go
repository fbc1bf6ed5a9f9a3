package timeline

import (
	"context"
	"slices"

	"github.com/perdure/perdure/client"
)

// Pager reads pages of a history, such as a client.Handle.
type Pager interface {
	HistoryPage(ctx context.Context, r client.HistoryRange) (client.HistoryPage, error)
}

const (
	// page is how many events are read at once.
	page = 1_000
	// maxHeld is how many bytes of texts are kept from each end of a history.
	maxHeld = 4 << 20
)

// Read reads the history of an execution for a timeline, 0 for the current one: all of it up to so many events, else as many from both of its
// ends together. d is what Describe has returned. It keeps no payloads, and ends earlier at events whose texts are very long, so that a timeline
// has a bounded size.
func Read(ctx context.Context, p Pager, d client.Description, execution, most int64) (Source, error) {
	if execution == 0 { // another one may have begun since d was read
		execution = d.Execution
	}
	src := Source{Of: d, Execution: execution}
	r := client.HistoryRange{Execution: execution, Max: int(min(most, page))}
	for want, left := most, maxHeld; ; {
		got, err := p.HistoryPage(ctx, r)
		if err != nil {
			return Source{}, err
		}
		if len(src.Head) == 0 { // a history that grows meanwhile is read up to where it was
			src.Execution, src.Status, src.Length = got.Execution, got.Status, got.Length
			if src.Length > most {
				want = (most + 1) / 2
				got.Events = got.Events[:min(int64(len(got.Events)), want)]
			}
		}
		kept := keep(got.Events, &left)
		src.Head = append(src.Head, kept...)
		r.Execution, r.From = got.Execution, int64(len(src.Head))+1
		r.Max = int(min(want, src.Length, r.From-1+page) - (r.From - 1))
		if r.Max < 1 || len(kept) == 0 || left <= 0 {
			break
		}
	}
	if int64(len(src.Head)) >= src.Length {
		return src, nil
	}
	back := client.HistoryRange{Execution: src.Execution, From: int64(len(src.Head)) + 1, To: src.Length, Newest: true}
	for left, room := most-int64(len(src.Head)), maxHeld; left > 0 && room > 0; {
		back.Max = int(min(left, page))
		got, err := p.HistoryPage(ctx, back)
		if err != nil {
			return Source{}, err
		}
		kept := keep(got.Events, &room)
		src.Tail = append(src.Tail, kept...)
		left -= int64(len(kept))
		if back.To = got.Next; !got.More || len(kept) == 0 {
			break
		}
	}
	slices.Reverse(src.Tail)
	return src, nil
}

// keep drops what a timeline does not show of events, and counts off the bytes of their texts. Without room left it drops the rest.
func keep(events []client.HistoryEvent, room *int) []client.HistoryEvent {
	for i := range events {
		if *room <= 0 {
			return events[:i]
		}
		e := &events[i]
		e.Input, e.Output, e.Attributes, e.Header = nil, nil, nil, nil
		if e.Failure != nil {
			e.Failure = &client.Failure{Type: e.Failure.Type, Message: e.Failure.Message, Code: e.Failure.Code}
			*room -= len(e.Failure.Message)
		}
		for j := range e.Attempts {
			*room -= len(e.Attempts[j].Failure)
		}
	}
	return events
}
