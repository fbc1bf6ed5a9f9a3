package dispatcher

import "context"

// drive makes the steps of an actor until nothing waits for it, then runs the attempt that its last turn has handed off, then makes the turn
// that this one's result causes: a chain stays on one goroutine. A goroutine for each step would cost more than the step, as its start
// wakes a thread of an idle processor, and as its stack must grow to what a storage needs. Code that is unwound, that calls Goexit or that
// binds the goroutine to its thread has it for itself: then another one goes on.
func (d *Dispatcher) drive(working context.Context, a *actor) {
	makeRoom(-1)
	for a != nil {
		a = d.proceed(working, a)
	}
}

// proceed makes one step of an actor, or runs the attempt, and answers the actor that the goroutine drives next; nil: none.
func (d *Dispatcher) proceed(working context.Context, a *actor) *actor {
	handed := a.handed
	a.handed = nil
	jobs, evict := d.actors.next(a)
	d.discard(working, evict)
	if len(jobs) > 0 {
		if handed != nil {
			d.startAttempt(working, handed)
		}
		if d.step(working, a, jobs) {
			return a
		}
		return nil
	}
	// From here on the actor may be another goroutine's.
	if handed == nil {
		d.work.Done()
		return nil
	}
	ctx := d.beginAttempt(working, handed) // before the step is done: the node must not seem to be at rest between them
	d.work.Done()
	if ctx == nil {
		return nil
	}
	return d.runAttempt(working, ctx, handed)
}

// step does jobs of an actor, and tells whether the goroutine goes on with it.
func (d *Dispatcher) step(working context.Context, a *actor, jobs []job) (more bool) {
	r := d.newRun(a)
	return d.finished(working, a, r, func() {
		if jobs[0].turn != nil {
			d.fetchedTurn(working, a, r, jobs[0])
		} else {
			d.fastTurn(working, a, r, jobs)
		}
	})
}

// finished makes a turn and ends it, whether it comes back or not. Else as step.
func (d *Dispatcher) finished(working context.Context, a *actor, r *run, turn func()) (more bool) {
	back := false
	defer func() { more = d.finish(working, a, r, recover(), back) }()
	turn()
	back = true
	return more
}
