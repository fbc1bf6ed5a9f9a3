package sqlite

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

// Bounds of one group: what its transaction holds of the log, and for how long others wait.
const (
	maxGroup      = 256
	maxGroupBytes = 8 << 20
)

// A member is one writing call, queued to the writer.
type member struct {
	op    string
	bytes int
	run   func(*tx) error
	done  chan struct{}
	err   error
	taken bool // guarded by writer.mu
	out   bool // it met damage: its error stands, and reruns of the group pass over it
}

// A writer owns the writing connection: one goroutine that folds all calls that wait into
// one transaction.
type writer struct {
	store *store
	conn  *conn
	gate  *turnstile

	mu      sync.Mutex
	urgent  []*member // renewals: they go first
	queue   []*member
	parked  []*parked
	fresh   bool // a parked fetch has not been tried
	stopped bool

	signal chan struct{}
	ended  chan struct{}

	// Owned by the goroutine.
	tx         tx
	begun      bool
	foreign    foreign
	enrolled   map[string]struct{}            // lease owners that the file knows to be of this process
	shuns      map[provider.TaskRef]time.Time // damaged items, and until when fetches pass over them
	met        []*damage                      // not yet shown on its instances
	unswept    time.Time                      // until when leases are not swept, because of damage
	complaints map[string]time.Time
	due        dues
	tried      tried
	group      []*member
	commits    atomic.Int64
	turns      atomic.Int64
	dropped    atomic.Int64
}

func newWriter(s *store, c *conn, gate *turnstile) *writer {
	w := &writer{
		store: s, conn: c, gate: gate, signal: make(chan struct{}, 1), ended: make(chan struct{}),
		enrolled: make(map[string]struct{}), shuns: make(map[provider.TaskRef]time.Time), complaints: make(map[string]time.Time),
	}
	w.due = dues{wall: never, elapsed: never, stale: true}
	w.tx = tx{db: unhurried{c}, writer: w, heads: make(map[provider.UUID]*head), fx: newEffects()}
	return w
}

// submit queues m. It answers false if the writer has stopped.
func (w *writer) submit(m *member, urgent bool) bool {
	w.mu.Lock()
	if w.stopped {
		w.mu.Unlock()
		return false
	}
	if urgent {
		w.urgent = append(w.urgent, m)
	} else {
		w.queue = append(w.queue, m)
	}
	w.mu.Unlock()
	w.poke()
	return true
}

// poke makes the writer look at its queues.
func (w *writer) poke() {
	select {
	case w.signal <- struct{}{}:
	default:
	}
}

// withdraw takes m out of the queue; false if the writer has it already.
func (w *writer) withdraw(m *member) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.taken {
		return false
	}
	m.taken = true // skipped when the writer comes to it
	return true
}

// loop runs until stop. Each round waits for work, takes all of it, and commits it.
func (w *writer) loop() {
	defer close(w.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		group, fresh, stopped := w.take()
		if stopped && len(group) == 0 {
			return
		}
		if len(group) == 0 && !fresh && !w.pressing() {
			timer.Reset(w.patience())
			select {
			case <-w.signal:
			case <-timer.C:
			}
			continue
		}
		w.attend()
		w.round(group)
	}
}

// take answers the next group, and whether a fetch waits to be tried.
func (w *writer) take() (group []*member, fresh, stopped bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	group, size := w.group[:0], 0
	for _, q := range []*[]*member{&w.urgent, &w.queue} {
		n := 0
		for _, m := range *q {
			if len(group) == maxGroup || size > 0 && size+m.bytes > maxGroupBytes {
				break
			}
			n++
			if m.taken {
				continue
			}
			m.taken = true
			size += m.bytes
			group = append(group, m)
		}
		*q = shift(*q, n)
	}
	w.group = group
	fresh, w.fresh = w.fresh, false
	return group, fresh, w.stopped
}

// shift drops the first n of q and lets go of what they held.
func shift(q []*member, n int) []*member {
	if n == 0 {
		return q
	}
	rest := copy(q, q[n:])
	clear(q[rest:])
	return q[:rest]
}

// stop ends the loop after what is queued.
func (w *writer) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.poke()
	<-w.ended
}

// write runs fn in the writer's next group and waits for its commit. The result is the
// member's own until then: a caller that gave up must not share it.
func write[T any](ctx context.Context, p *Provider, op string, bytes int, fn func(*tx, *T) error) (T, error) {
	return enqueue(ctx, p, op, bytes, false, fn)
}

func enqueue[T any](ctx context.Context, p *Provider, op string, bytes int, urgent bool, fn func(*tx, *T) error) (T, error) {
	var zero T
	out := new(T)
	m := &member{op: op, bytes: bytes, done: make(chan struct{}), run: func(t *tx) error {
		*out = zero // the group may run twice
		return fn(t, out)
	}}
	if err := p.queue(ctx, m, urgent); err != nil {
		return zero, err
	}
	return *out, nil
}

func (p *Provider) queue(ctx context.Context, m *member, urgent bool) error {
	if p.readOnly {
		return refused(m.op)
	}
	if err := p.enter(ctx); err != nil {
		return err
	}
	defer p.leave()
	w := p.store.writer
	if !w.submit(m, urgent) {
		return provider.ErrClosed
	}
	select {
	case <-m.done:
		return m.err
	case <-ctx.Done():
		if w.withdraw(m) {
			return ctx.Err()
		}
		select {
		case <-m.done: // both came at once: the better news is the answer
			return m.err
		default:
		}
		return &provider.Error{Op: m.op, Outcome: provider.OutcomeUnknown, Retryable: true, Err: ctx.Err()}
	case <-p.closing:
		if w.withdraw(m) {
			return provider.ErrClosed
		}
		<-m.done
		return m.err
	}
}
