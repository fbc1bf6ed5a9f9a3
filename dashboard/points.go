package dashboard

import (
	"fmt"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
)

// points are the links with which a history offers to open an execution anew.
type points struct {
	root        string
	execution   int64
	length      int64
	reset, fork bool
	ended       bool
}

// point is an event before which an execution can open.
type point struct {
	Event       int64
	Reset, Fork string // addresses of the forms; "": the principal may not
}

// pointsOf returns what the principal may do with events of an execution.
func (c *call) pointsOf(d *client.Description, execution int64) *points {
	p := &points{
		root: fmt.Sprintf("%s/instances/%s", c.s.o.Prefix, d.Key), execution: execution, length: d.HistoryLength, ended: d.Status.Ended(),
	}
	if execution != d.Execution || d.HistoryLength == 0 || d.Sealed != nil {
		return p
	}
	for _, a := range acts() {
		if a.of == &ofInstance && c.may(a.right) && a.fits(d) {
			p.reset = p.reset || a.right == client.ActReset
			p.fork = p.fork || a.right == client.ActFork
		}
	}
	return p
}

// offered reports whether there is a link.
func (p *points) offered() bool { return p.reset || p.fork }

// Of returns the points of a step: directly before the event that begins it, and before that which ends it. A point is a message: an event that
// code has not made.
func (p *points) Of(s client.HistoryStep) (list []point) {
	if !p.offered() {
		return nil
	}
	for _, e := range []*client.HistoryEvent{&s.HistoryEvent, s.End} {
		if e == nil || e.Execution != 0 && e.Execution != p.execution {
			continue
		}
		if kind, ok := history.ParseKind(e.Kind); ok && kind.IsMessage() {
			list = append(list, p.at(e.ID))
		}
	}
	return list
}

// End returns the point behind the last event, which only an instance that goes on has.
func (p *points) End() *point {
	if !p.offered() || p.ended {
		return nil
	}
	at := p.at(p.length + 1)
	return &at
}

func (p *points) at(event int64) point {
	at := point{Event: event}
	if p.reset {
		at.Reset = fmt.Sprintf("%s/reset?event=%d&execution=%d", p.root, event, p.execution)
	}
	if p.fork {
		at.Fork = fmt.Sprintf("%s/fork?event=%d&execution=%d", p.root, event, p.execution)
	}
	return at
}
