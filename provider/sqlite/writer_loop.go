package sqlite

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// loop runs until stop. It does the work that no caller leads.
func (w *writer) loop() {
	defer close(w.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		rest, ended := w.work()
		if ended {
			return
		}
		if w.queue.Len() > 0 { // its caller found the lock taken
			continue
		}
		timer.Reset(rest)
		select {
		case <-w.queue.Signal:
		case <-timer.C:
		}
	}
}

// work runs groups until there is nothing left to do, and returns how long it may rest.
func (w *writer) work() (rest time.Duration, ended bool) {
	w.lock.Lock()
	defer w.lock.Unlock()
	for {
		var stopped bool
		w.group, stopped = w.queue.Take(w.group[:0], maxGroup, maxGroupBytes)
		fresh := w.waiters.takeFresh()
		if stopped && len(w.group) == 0 {
			return 0, true
		}
		if len(w.group) == 0 && !fresh && !w.hasWork() {
			rest = w.sleepTime()
			w.wakeAt = time.Now().Add(rest)
			return rest, false
		}
		w.checkLiveness()
		w.round()
	}
}

// hasWork reports whether the writer has something to do though there is no call.
func (w *writer) hasWork() bool {
	w.poll()
	w.checkLiveness()
	w.notify()
	if w.others.changed {
		return true
	}
	c := w.store.clock
	return w.waiters.any() && w.tx.schedule.passed(c.wall(), c.elapsed())
}

// await queues a call and waits for its commit. If no group runs, the caller runs it. Waking the writer's goroutine and being
// woken by it takes longer than the statements of a step, because each of the two also wakes an idle thread. Without this, W4 takes
// 12 % more CPU and W6 10 %.
func (w *writer) await(ctx context.Context, closing <-chan struct{}, m *relational.Member, urgent bool) error {
	if !w.queue.Add(m, urgent) {
		return provider.ErrClosed
	}
	if m.Exclusive || !w.mayLead(ctx) { // an exclusive member runs a program's function, which may take long
		w.queue.Wake()
	} else if w.lock.TryLock() { // else its holder checks the queue afterwards
		w.lead(m)
	}
	return w.queue.Wait(ctx, closing, m)
}

// mayLead reports whether a caller may wait for locks of the file. A caller that leads cannot stop waiting.
func (w *writer) mayLead(ctx context.Context) bool {
	end, limited := ctx.Deadline()
	return !limited || time.Until(end) > 2*w.store.busyTimeout
}

// lead runs a call, and gives up the lock. It leaves the call to the goroutine where many call, so that the goroutine goes on
// with the next group at once, and where other processes have the file, for which the call may have to wait.
func (w *writer) lead(m *relational.Member) {
	call := true
	if !w.grouped && w.others.alone && w.queue.TakeSingle(m) {
		w.checkLiveness()
		w.group = append(w.group[:0], m)
		w.round()
		call = w.needsWake()
	}
	w.lock.Unlock()
	if call || w.queue.Len() > 0 {
		w.queue.Wake()
	}
}

// needsWake reports whether there is something to do sooner than the goroutine will wake.
func (w *writer) needsWake() bool {
	return w.others.changed || w.tx.schedule.stale && w.waiters.any() || time.Now().Add(w.sleepTime()).Before(w.wakeAt)
}
