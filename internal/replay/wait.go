package replay

// waitList holds the coroutines that wait for something, first come first.
// It is a ring with a sentinel, so that the cost of leaving does not depend on its length.
type waitList struct {
	root *wait
}

type wait struct {
	co         *coroutine
	prev, next *wait
}

func (l *waitList) add(co *coroutine) *wait {
	if l.root == nil {
		l.root = &wait{}
		l.root.prev, l.root.next = l.root, l.root
	}
	w := &wait{co: co, prev: l.root.prev, next: l.root}
	w.prev.next, w.next.prev = w, w
	return w
}

func (w *wait) leave() {
	w.prev.next, w.next.prev = w.next, w.prev
}

// wakeAll makes every waiting coroutine ready; each leaves the list itself when it runs.
func (l *waitList) wakeAll() {
	if l.root == nil {
		return
	}
	for w := l.root.next; w != l.root; w = w.next {
		w.co.sched.enqueue(w.co)
	}
}

// Source is something that code can wait for: a future or a mailbox.
type Source interface {
	// Ready reports whether a wait for it would end at once.
	Ready() bool
	list() *waitList
}

// Wait blocks the running coroutine until one of the sources is ready and returns its
// index, the lowest if there are several. If the scope is cancelled first, it returns the scope's error.
// A single future that is ending is waited for even then.
func (s *Scope) Wait(sources ...Source) (int, error) {
	co := s.x.sched.enter()
	for {
		for i, src := range sources {
			if src.Ready() {
				return i, nil
			}
		}
		if err := s.over(); err != nil && (s.err == nil || !ending(sources)) {
			return -1, err
		}
		for _, src := range sources {
			co.waits = append(co.waits, src.list().add(co))
		}
		co.waits = append(co.waits, s.waiting.add(co))
		co.park()
		for _, w := range co.waits {
			w.leave()
		}
		co.waits = co.waits[:0]
	}
}
