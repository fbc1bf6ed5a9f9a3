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

// empty reports whether nothing waits.
func (l *waitList) empty() bool { return l.root == nil || l.root.next == l.root }

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
	// since returns the message that made it ready, by event ID.
	since() int64
	list() *waitList
}
