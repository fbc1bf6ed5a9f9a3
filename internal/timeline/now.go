package timeline

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/perdure/perdure/client"
)

// nowRows returns rows of what the instance waits for now and that no row of the history shows.
func (b *builder) nowRows(shown []Row) (rows []Row) {
	d := &b.src.Of
	known := map[int64]bool{}
	for i := range shown {
		known[shown[i].Event] = true
	}
	for i := range d.Activities {
		if a := &d.Activities[i]; !known[a.EventID] {
			r := Row{Kind: KindActivity, Name: a.Name, Event: a.EventID, Count: 1}
			b.pendingActivity(&r, a)
			rows = append(rows, r)
		}
	}
	waits := slices.Clone(d.Waits)
	for i := range waits {
		w := &waits[i]
		switch w.Kind {
		case client.WaitActivity:
		case client.WaitTimer, client.WaitChild:
			if known[w.EventID] {
				break
			}
			kind := map[client.WaitKind]string{client.WaitTimer: KindTimer, client.WaitChild: KindChild}[w.Kind]
			rows = append(rows, Row{
				Kind: kind, Name: cmp.Or(w.Name, "begun before"), Event: w.EventID, State: Open, Next: w.Until, Instance: w.Instance, Key: w.Key, Count: 1,
				Detail: "its beginning was not read",
			})
		case client.WaitUpdate: // its row has the history
			if !b.hasOpen(shown, KindUpdate, w.Name) {
				rows = append(rows, b.waitRow(w))
			}
		case client.WaitRelease:
			if d.Blocked == nil || d.Status == client.StatusSuspended && i == 0 {
				rows = append(rows, b.waitRow(w))
			}
		default:
			if w.Kind == client.WaitEvent && d.Waiting != nil {
				break // its text says more
			}
			rows = append(rows, b.waitRow(w))
		}
	}
	if d.Waiting != nil {
		rows = append(rows, b.waitingRow(d.Waiting))
	}
	if d.Blocked != nil {
		rows = append(rows, blockedRow(d.Blocked))
	}
	return rows
}

// hasOpen reports whether a row shows an open step.
func (b *builder) hasOpen(rows []Row, kind, name string) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Kind == kind && r.Name == name && r.State == Open })
}

// waitRow returns the row of a wait. The store does not keep since when.
func (b *builder) waitRow(w *client.Wait) Row {
	r := Row{Kind: KindWait, Name: w.Text, State: Open, Next: w.Until, Count: 1, Detail: "since when is not stored"}
	if b.opts.Wait != nil {
		r.Name = b.opts.Wait(w)
	}
	return r
}

// waitingRow returns the row of what code waits for, in its own words.
func (b *builder) waitingRow(w *client.WaitingFor) Row {
	text, ok := w.Text, true
	if b.opts.Waiting != nil {
		text, ok = b.opts.Waiting(w)
	}
	if !ok {
		text = "hidden"
	}
	r := Row{Kind: KindWait, Name: text, State: Open, Began: w.Since, Count: 1}
	if w.Since.IsZero() {
		r.Detail = "since when is not known"
		return r
	}
	r.Spans = []Span{{Kind: SpanWaiting, Began: w.Since}}
	return r
}

// blockedRow returns the row of failed turns.
func blockedRow(bl *client.Blocked) Row {
	r := Row{
		Kind: KindBlocked, Name: bl.Reason, State: Open, Began: bl.Since, Next: bl.RetryAt, Count: 1,
		Detail: fmt.Sprintf("%d failed turns in a row", bl.Count),
	}
	if !bl.Since.IsZero() {
		r.Spans = []Span{{Kind: SpanBlocked, Began: bl.Since}}
	}
	if bl.RetryAt.IsZero() {
		r.Detail += ", held until somebody unblocks it"
	}
	return r
}
