package replay

import "github.com/perdure/perdure/internal/failure"

// Env returns the node's environment.
func (s *Scope) Env() *Env { return s.x.env }

// Info returns what identifies the execution. Before a ForkPoint it may be what identified the origin.
func (s *Scope) Info() Info {
	s.x.sched.checkReader()
	info := s.x.info
	if as := s.x.as; as != nil {
		info.ID, info.Key, info.Execution, info.Parent = as.ID, as.Key, as.Execution, as.Parent
	}
	return info
}

// Input returns the input of the execution.
func (s *Scope) Input() []byte { return s.x.startEvent.Input }

// Err is nil until the scope is over, then the reason.
func (s *Scope) Err() error {
	s.x.sched.checkReader()
	return s.over()
}

// Replaying reports whether the code runs on stored events.
func (s *Scope) Replaying() bool {
	s.x.sched.checkCaller()
	return s.x.events.replaying.Load()
}

// WithCancel makes a child scope and the function that cancels it.
func (s *Scope) WithCancel() (child *Scope, cancel func()) {
	s.x.sched.enter()
	child = s.newChild()
	return child, func() {
		s.x.sched.enter()
		child.cancel(failure.ErrCancelled)
	}
}

// Detached makes a scope that no cancellation reaches, for cleaning up.
func (s *Scope) Detached() *Scope {
	s.x.sched.checkCaller()
	return &Scope{x: s.x, run: s.run, detached: true}
}

// cancel gives up everything open in the scope, oldest first, and then in its children. It wakes the coroutines that
// wait in the scope.
func (s *Scope) cancel(reason error) {
	if s.err != nil {
		return
	}
	s.err, s.at = reason, s.x.events.message
	s.detach()
	for e := s.open.Front(); e != nil; e = s.open.Front() {
		e.Value.(*Future).cancel(reason)
	}
	for e := s.children.Front(); e != nil; e = s.children.Front() {
		e.Value.(*Scope).cancel(reason)
	}
	s.waiting.wakeAll()
}

// Wait blocks the running coroutine until one of the sources is ready and returns its
// index, the lowest if there are several. If the scope is cancelled first, it returns the scope's error.
// A single future that was asked to end is waited for even then.
//
// If several messages came while it blocked, the first one counts, as if the code had run after each.
func (s *Scope) Wait(sources ...Source) (int, error) {
	co := s.x.sched.enter()
	s.x.yieldToFreshRuns(co)
	for blocked := false; ; blocked = true {
		first, since := -1, int64(0)
		for i, src := range sources {
			if src.Ready() && (first < 0 || blocked && src.since() < since) {
				first, since = i, src.since()
			}
		}
		if err := s.over(); err != nil && (s.err == nil || !awaitsEndOnly(sources)) && (first < 0 || blocked && s.err != nil && s.at < since) {
			co.at = max(co.at, s.at)
			return -1, err
		}
		if first >= 0 {
			co.at = max(co.at, since)
			return first, nil
		}
		co.futuresOnly = len(sources) > 0
		for _, src := range sources {
			if _, ok := src.(*Future); !ok {
				co.futuresOnly = false
			}
			co.waits = append(co.waits, src.list().add(co))
		}
		co.waits = append(co.waits, s.waiting.add(co))
		s.x.sched.note(co)
		co.park()
		for _, w := range co.waits {
			w.leave()
		}
		co.waits = co.waits[:0]
	}
}

// ActsOn returns the message that the running coroutine acts on, by event ID: the last of those that have ended its waits. It is 0 if a
// message has begun the coroutine and it has not waited.
func (s *Scope) ActsOn() int64 { return s.x.sched.checkCaller().at }

// Go runs body as another coroutine, in a child scope. The future is settled with body's error. Cancelling the future
// cancels the child scope.
func (s *Scope) Go(body func(*Scope) error) *Future {
	s.x.sched.enter()
	child := s.newChild()
	f := &Future{x: s.x, abandon: func() { child.cancel(failure.ErrCancelled) }}
	s.x.sched.spawn(s.run, func() {
		err := body(child)
		child.done = true
		child.leave()
		if !f.settled {
			f.err = err
			f.settle()
			if err != nil {
				s.x.lost.keep(s.x.env.Errors, f)
			}
		}
	})
	return f
}
