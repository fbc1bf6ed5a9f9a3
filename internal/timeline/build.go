package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/client"
)

// builder makes a timeline.
type builder struct {
	src     *Source
	opts    Options
	line    *Timeline
	steps   []client.HistoryStep
	pending map[int64]*client.Activity // by the event that scheduled them
	waited  map[int64]bool             // events of timers and children that the instance waits for
	givenUp map[int64]time.Time        // when the code asked for it no longer, by the event that began it
}

// New returns the timeline of a source. It has at most Options.MaxRows rows, and groups have a hundred members in all.
func New(src *Source, opts Options) *Timeline {
	opts.MaxRows = cmp.Or(max(0, opts.MaxRows), defaultRows)
	b := &builder{
		src: src, opts: opts, pending: map[int64]*client.Activity{}, waited: map[int64]bool{}, givenUp: map[int64]time.Time{},
		line: &Timeline{
			ID: src.Of.ID, Key: src.Of.Key, Execution: src.Execution, Status: src.Status, Open: src.ongoing(), Events: src.Length, NotRead: src.notRead(),
		},
	}
	b.steps = client.CompactHistory(slices.Concat(src.Head, src.Tail))
	b.know()
	b.axis()
	rows := b.historyRows()
	if src.ongoing() {
		rows = append(rows, b.nowRows(rows)...)
	}
	for i := range rows {
		if rows[i].Kind != KindMark && rows[i].Kind != KindGap {
			b.line.Steps++
		}
	}
	b.line.Rows = b.fold(rows)
	return b.line
}

// know notes what refers to steps.
func (b *builder) know() {
	for _, events := range [][]client.HistoryEvent{b.src.Head, b.src.Tail} {
		for i := range events {
			if e := &events[i]; e.Kind == "ActivityCancelRequested" || e.Kind == "ChildCancelRequested" || e.Kind == "TimerCancelled" {
				b.givenUp[e.Ref] = e.Time
			}
		}
	}
	if !b.src.ongoing() {
		return
	}
	for i := range b.src.Of.Activities {
		b.pending[b.src.Of.Activities[i].EventID] = &b.src.Of.Activities[i]
	}
	for i := range b.src.Of.Waits {
		if w := &b.src.Of.Waits[i]; w.EventID > 0 {
			b.waited[w.EventID] = true
		}
	}
}

// axis sets when the timeline begins and ends: with its first event, and now or with its last one.
func (b *builder) axis() {
	d := &b.src.Of
	if b.src.Execution == 1 {
		b.line.Begin = d.CreatedAt
	}
	if len(b.src.Head) > 0 && !b.src.Head[0].Time.IsZero() {
		b.line.Begin = b.src.Head[0].Time
	}
	if b.line.Open {
		b.line.End = d.AsOf
	}
	for i := range b.steps {
		for _, e := range []*client.HistoryEvent{&b.steps[i].HistoryEvent, b.steps[i].End} {
			if e != nil && e.Time.After(b.line.End) {
				b.line.End = e.Time
			}
		}
	}
	if b.line.End.Before(b.line.Begin) {
		b.line.End = b.line.Begin
	}
}

// historyRows returns the rows of what was read of the history.
func (b *builder) historyRows() (rows []Row) {
	gap := b.src.notRead()
	for i := range b.steps {
		s := &b.steps[i]
		if gap > 0 && s.ID > int64(len(b.src.Head)) {
			rows = append(rows, b.gapRow(gap))
			gap = 0
		}
		if r, shown := b.stepRow(s); shown {
			rows = append(rows, r)
		}
	}
	if gap > 0 {
		rows = append(rows, b.gapRow(gap))
	}
	b.explainGivenUp(rows)
	return rows
}

func (b *builder) gapRow(n int64) Row {
	from := int64(len(b.src.Head)) + 1
	return Row{
		Kind: KindGap, Event: from, EndEvent: from + n - 1, State: Unknown, Count: 1,
		Detail: fmt.Sprintf("%s events were not read", Thousands(n)),
	}
}

// explainGivenUp says of steps that were given up how many that began with them had ended before: the first n of m.
func (b *builder) explainGivenUp(rows []Row) {
	for from := 0; from < len(rows); {
		to := from + 1
		for to < len(rows) && together(&rows[from], &rows[to]) {
			to++
		}
		batch := rows[from:to]
		from = to
		var ends []time.Time
		for i := range batch {
			if s := batch[i].State; s == Done || s == Failed {
				ends = append(ends, batch[i].Ended)
			}
		}
		slices.SortFunc(ends, time.Time.Compare)
		for i := range batch {
			given, asked := b.givenUp[batch[i].Event]
			if batch[i].State != GivenUp || !asked || len(batch) == 1 {
				continue
			}
			before, _ := slices.BinarySearchFunc(ends, given.Add(1), time.Time.Compare) // those that ended then, too
			if before > 0 {
				batch[i].Detail = join(batch[i].Detail, fmt.Sprintf("after %d of the %d that began with it had ended", before, len(batch)))
			}
		}
	}
}

// together reports whether two steps began in one turn.
func together(a, b *Row) bool {
	begins := func(r *Row) bool { return r.Kind == KindActivity || r.Kind == KindTimer || r.Kind == KindChild }
	return begins(a) && begins(b) && !a.Began.IsZero() && a.Began.Equal(b.Began)
}
