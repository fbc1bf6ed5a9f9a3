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

// page is how many events are read at once.
const page = 1_000

// Read reads the history of an execution for a timeline, 0 for the current one: all of it up to so many events, else as many from both of its
// ends together. d is what Describe has returned.
func Read(ctx context.Context, p Pager, d client.Description, execution, most int64) (Source, error) {
	if execution == 0 { // another one may have begun since d was read
		execution = d.Execution
	}
	src := Source{Of: d, Execution: execution}
	r := client.HistoryRange{Execution: execution, Max: int(min(most, page))}
	for want := most; ; {
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
		src.Head = append(src.Head, got.Events...)
		r.Execution, r.From = got.Execution, int64(len(src.Head))+1
		r.Max = int(min(want, src.Length, r.From-1+page) - (r.From - 1))
		if r.Max < 1 || len(got.Events) == 0 {
			break
		}
	}
	if int64(len(src.Head)) >= src.Length {
		return src, nil
	}
	back := client.HistoryRange{Execution: src.Execution, From: int64(len(src.Head)) + 1, To: src.Length, Newest: true}
	for left := most - int64(len(src.Head)); left > 0; {
		back.Max = int(min(left, page))
		got, err := p.HistoryPage(ctx, back)
		if err != nil {
			return Source{}, err
		}
		src.Tail = append(src.Tail, got.Events...)
		left -= int64(len(got.Events))
		if back.To = got.Next; !got.More || len(got.Events) == 0 {
			break
		}
	}
	slices.Reverse(src.Tail)
	return src, nil
}
