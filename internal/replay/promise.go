package replay

import "slices"

// Promise is a result that code sets once, and that any code may wait for.
type Promise struct {
	x     *core
	whole *Future   // that nobody can cancel
	views []*Future // of readers, open ones only
}

// NewPromise makes a promise that is not set. It leaves no event.
func (s *Scope) NewPromise() *Promise {
	s.x.sched.enter()
	return &Promise{x: s.x, whole: &Future{x: s.x}}
}

// Source returns what is ready when the promise is set.
func (p *Promise) Source() Source { return p.whole }

// Settle sets the promise to an output or an error, and reports whether it did: it does nothing if the promise is set.
//
// What the first step of a handler sets is as old as the message that began the handler: the code may have got later messages
// in the same turn.
func (p *Promise) Settle(output []byte, err error) bool {
	co := p.x.sched.enter()
	if p.whole.settled {
		return false
	}
	at := p.x.events.message
	if co.began != 0 {
		at = co.began
	}
	for _, f := range append(p.views, p.whole) {
		f.output, f.err = output, err
		f.settle()
		f.at = at
	}
	p.views = nil
	return true
}

// View returns the result for one reader. To cancel it ends the view, and neither the promise nor other views.
func (p *Promise) View() *Future {
	p.x.sched.enter()
	if w := p.whole; w.settled {
		return &Future{x: p.x, settled: true, at: w.at, output: w.output, err: w.err}
	}
	f := &Future{x: p.x}
	f.abandon = func() { p.views = slices.DeleteFunc(p.views, func(v *Future) bool { return v == f }) }
	p.views = append(p.views, f)
	return f
}
