package replay

import (
	"slices"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
)

// runsEnded is ready when no run goes on that holds the end. While the door is shut, those that wait for their turn do not count.
type runsEnded struct{ x *core }

// Ready implements Source.
func (r runsEnded) Ready() bool {
	held := r.x.job.holding
	for _, queued := range r.x.queuedRuns() {
		if !queued.abandon {
			held--
		}
	}
	return held == 0
}

func (r runsEnded) since() int64 { return r.x.job.endedAt }

func (r runsEnded) list() *waitList { return &r.x.job.ended }

// AwaitHandlers blocks until no run of a handler goes on that holds the end of the execution.
func (s *Scope) AwaitHandlers() error {
	if s.x.sched.enter().run != nil {
		return s.x.env.Errors.New(failure.ErrInvalid,
			"AwaitHandlers is called in a handler, which would wait for itself: call it in the function of the orchestration")
	}
	_, err := s.Wait(runsEnded{s.x})
	return err
}

// ContinueLate makes the input of the next execution when no handler can change the state any more. It shuts the door: what would begin
// a run is kept. It waits for the runs that go on, under their grace, and calls input. It returns the input for continuing as new, and
// the door stays shut. After an error the door is open again, and what was kept begins.
//
// Nothing here is an event of its own, so a replay meets ordinary code.
func (s *Scope) ContinueLate(input func() ([]byte, error)) (data []byte, err error) {
	x := s.x
	co := x.sched.enter()
	if err := s.RefuseInHandler(); err != nil {
		return nil, err
	}
	x.yieldToFreshRuns(co)
	x.job.shut++
	if err = s.awaitLast(); err != nil {
		x.openDoor(1)
		return nil, err
	}
	x.job.taking++
	if data, err = input(); err == nil {
		err = s.AdmitSuccessor(len(data))
	}
	if err != nil {
		x.job.taking--
		x.openDoor(1)
		return nil, err
	}
	x.carryQueues()
	for e := x.job.runs.Front(); e != nil && x.sched.fault == nil; e = x.job.runs.Front() {
		r := e.Value.(*handlerRun)
		x.sched.drop(r)
		x.endRun(r, errAbandoned)
	}
	return data, nil
}

// TookInput notes that the code has made the input of the next execution and is about to return. Other code may run before it does: a
// deferred function may wait. What a handler does then is not in the input.
func (s *Scope) TookInput() {
	s.x.sched.checkCaller()
	s.x.job.taking++
}

// RefuseInHandler returns an error if a handler calls it: only the main function continues as new.
func (s *Scope) RefuseInHandler() error {
	if s.x.sched.checkCaller().run == nil {
		return nil
	}
	return s.x.env.Errors.New(failure.ErrInvalid, "a handler cannot continue as new: "+
		"let it set a variable or send an event, and return ContinueAsNew from the function of the orchestration")
}

// awaitLast waits for the runs that hold the end. When their grace is over it cancels them, and a minute later it waits no longer.
func (s *Scope) awaitLast() error {
	x := s.x
	for step, micros := range []int64{x.job.handlerGrace(), abandonAfter} {
		if step == 0 && (runsEnded{x}).Ready() {
			return s.over()
		}
		timer := (&Scope{x: x, run: s.run, detached: true}).Timer(time.Duration(micros) * time.Microsecond)
		first, err := s.Wait(runsEnded{x}, timer)
		switch {
		case err != nil:
			timer.cancel(failure.ErrCancelled)
			return err
		case first == 0:
			timer.cancel(failure.ErrCancelled)
			return nil
		case timer.err != nil: // the history has no room for it
			return timer.err
		case step == 0:
			x.cancelRuns()
		}
	}
	return nil
}

// cancelRuns cancels the runs that hold the end and have begun.
func (x *core) cancelRuns() {
	reason := x.env.Errors.New(failure.ErrCancelled, "the orchestration continues as new, and its handlers must end")
	for e := x.job.runs.Front(); e != nil; e = e.Next() {
		if r := e.Value.(*handlerRun); r.queued == nil && !r.abandon {
			r.scope.cancel(reason)
		}
	}
}

// carryQueues leaves the updates that wait for their turn to the next execution, which validates them again.
func (x *core) carryQueues() {
	us := x.updates
	for _, r := range x.waitingRuns() {
		u := r.queued
		x.sched.drop(r)
		u.accepted, u.waited = false, false
		us.show(u, history.UpdatePending)
		x.endRun(r, nil) // it is pending again
	}
	if us == nil {
		return
	}
	for _, h := range us.all() {
		h.queue = slices.DeleteFunc(h.queue, func(u *openUpdate) bool { return !u.accepted })
	}
	slices.SortFunc(us.pending, func(a, b *openUpdate) int { return int(a.received - b.received) })
}

// carriesQueues reports whether the next execution gets the updates that wait for their turn. The plain form made its input before it knew
// them all. So those that one commit may not hold have their turn in this execution, as all have in one that was begun without flagCarry.
func (x *core) carriesQueues() bool {
	if x.job.shut > 0 {
		return true
	}
	if x.settings.Flags&flagCarry == 0 {
		return false
	}
	_, bytes := x.updates.pendingBytes()
	for _, r := range x.waitingRuns() {
		bytes += int(history.Size(r.queued.body))
	}
	return bytes <= maxPendingUpdates
}

// openDoor takes back n calls of ContinueLate. If the door is open then, what was kept begins, before the main function goes on.
func (x *core) openDoor(n int) {
	if n == 0 {
		return
	}
	if x.job.shut -= n; x.job.shut > 0 {
		return
	}
	if us := x.updates; us != nil {
		for _, h := range us.all() {
			h.next()
		}
		x.beginPending("")
	}
	x.handleWaiting(true)
}
