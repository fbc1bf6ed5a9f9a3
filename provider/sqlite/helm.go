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
		if w.queue.Len() > 0 { // its caller found the helm taken
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
	w.helm.Lock()
	defer w.helm.Unlock()
	for {
		var stopped bool
		w.group, stopped = w.queue.Take(w.group[:0], maxGroup, maxGroupBytes)
		fresh := w.parking.takeFresh()
		if stopped && len(w.group) == 0 {
			return 0, true
		}
		if len(w.group) == 0 && !fresh && !w.pressing() {
			rest = w.patience()
			w.wakes = time.Now().Add(rest)
			return rest, false
		}
		w.attend()
		w.round()
	}
}

// pressing reports whether the writer has something to do though there is no call.
func (w *writer) pressing() bool {
	w.watch()
	w.attend()
	w.tell()
	if w.foreign.changed {
		return true
	}
	c := w.store.clock
	return w.parking.any() && w.tx.agenda.passed(c.wall(), c.elapsed())
}

// await queues a call and waits for its commit. If no group runs, the caller runs it. Waking the writer's goroutine and being
// woken by it takes longer than the statements of a step, because each of the two also wakes an idle thread. Without this, W4 takes
// 12 % more CPU and W6 10 %.
func (w *writer) await(ctx context.Context, closing <-chan struct{}, m *relational.Member, urgent bool) error {
	if !w.queue.Add(m, urgent) {
		return provider.ErrClosed
	}
	if m.Exclusive || !w.patient(ctx) { // a member that goes alone runs a program's function, which may take long
		w.queue.Wake()
	} else if w.helm.TryLock() { // else its holder looks at the queue afterwards
		w.lead(m)
	}
	return w.queue.Wait(ctx, closing, m)
}

// patient reports whether a caller may wait for locks of the file. A caller that leads cannot stop waiting.
func (w *writer) patient(ctx context.Context) bool {
	end, limited := ctx.Deadline()
	return !limited || time.Until(end) > 2*w.store.patience
}

// lead runs a call, and gives up the helm. It leaves the call to the goroutine where many call, so that the goroutine goes on
// with the next group at once, and where other processes have the file, for which the call may have to wait.
func (w *writer) lead(m *relational.Member) {
	call := true
	if !w.crowd && w.foreign.alone && w.queue.TakeSingle(m) {
		w.attend()
		w.group = append(w.group[:0], m)
		w.round()
		call = w.restless()
	}
	w.helm.Unlock()
	if call || w.queue.Len() > 0 {
		w.queue.Wake()
	}
}

// restless reports whether there is something to do sooner than the goroutine will look.
func (w *writer) restless() bool {
	return w.foreign.changed || w.tx.agenda.stale && w.parking.any() || time.Now().Add(w.patience()).Before(w.wakes)
}
