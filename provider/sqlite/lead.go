package sqlite

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// await queues a call and waits for its commit. If no group runs, the caller runs it. Waking the writer's goroutine and being
// woken by it takes longer than the statements of a step, because each of the two also wakes an idle thread.
func (w *writer) await(ctx context.Context, closing <-chan struct{}, m *relational.Member, urgent bool) error {
	if !w.queue.Add(m, urgent) {
		return provider.ErrClosed
	}
	if m.Alone || !w.patient(ctx) { // a member that goes alone runs a program's function, which may take long
		w.queue.Poke()
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
	if !w.crowd && w.foreign.alone && w.queue.TakeLone(m) {
		w.attend()
		w.group = append(w.group[:0], m)
		w.round()
		call = w.restless()
	}
	w.helm.Unlock()
	if call || w.queue.Len() > 0 {
		w.queue.Poke()
	}
}

// restless reports whether there is something to do sooner than the goroutine will look.
func (w *writer) restless() bool {
	return w.foreign.changed || w.tx.agenda.stale && w.parking.any() || time.Now().Add(w.patience()).Before(w.wakes)
}
