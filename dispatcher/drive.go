package dispatcher

import "context"

// drive makes the turns of an actor until nothing waits for it. It then runs the attempt that the last of them has handed off, and makes
// the turn of the attempt's result: a chain stays on one goroutine. A goroutine for each step would cost more than the step, as its start
// wakes a thread of an idle processor, and as its stack must grow to what a storage needs. Code that is unwound, that calls Goexit or that
// binds the goroutine to its thread has it for itself: then another one goes on.
//
// handed is an attempt that the actor's last turn has handed off; it may be nil.
func (d *Dispatcher) drive(working context.Context, a *actor, handed *attempt) {
	makeRoom(-1)
	for a != nil {
		a, handed = d.proceed(working, a, handed)
	}
}

// proceed makes one turn of an actor. Without one it runs the attempt. It returns what drive goes on with.
func (d *Dispatcher) proceed(working context.Context, a *actor, handed *attempt) (next *actor, then *attempt) {
	jobs, evict := d.actors.next(a)
	d.discard(working, evict)
	if len(jobs) > 0 {
		if handed != nil {
			d.startAttempt(working, handed)
		}
		if handed, more := d.step(working, a, jobs); more {
			return a, handed
		}
		return nil, nil
	}
	// From here on the actor may be another goroutine's.
	if handed == nil {
		d.work.Done()
		return nil, nil
	}
	ctx := d.beginAttempt(working, handed) // before the step is done: the node must not seem to be at rest between them
	d.work.Done()
	if ctx == nil {
		return nil, nil
	}
	return d.resume(working, d.runAttempt(working, ctx, handed)), nil
}

// step makes the turn of jobs. It returns the attempt that the turn has handed off, and reports whether the goroutine goes on with the actor.
func (d *Dispatcher) step(working context.Context, a *actor, jobs []job) (handed *attempt, more bool) {
	r := d.newRun(a)
	return d.finished(working, a, r, func() *attempt {
		if jobs[0].turn != nil {
			return d.fetchedTurn(working, a, r, jobs[0])
		}
		return d.fastTurn(working, a, r, jobs)
	})
}

// finished makes a turn and ends it, whether it returns or not. The results are as of step.
func (d *Dispatcher) finished(working context.Context, a *actor, r *run, turn func() *attempt) (handed *attempt, more bool) {
	back := false
	defer func() { more = d.finish(working, a, r, recover(), back) }()
	handed = turn()
	back = true
	return handed, more
}
