package postgres

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	// maxPayload is the size limit of one notification. Postgres accepts less than 8,000 bytes.
	maxPayload = 7_500
	// Delays before a reconnection.
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
	// maxPending is how many instances, answers and notices wait for a lost connection. Beyond it the other processes
	// look at everything.
	maxPending = 10_000
	// keepaliveAfter is how long a connection may be silent before it is tested.
	keepaliveAfter = 20 * time.Second
)

// signal is what one process tells the others of its commits.
type signal struct {
	Node    string            `json:"n"`
	Turns   []int64           `json:"t,omitempty"` // kinds
	Tasks   []int64           `json:"k,omitempty"` // kinds
	Freed   []int64           `json:"f,omitempty"` // kinds of tasks whose lease ended, where that matters to somebody
	Expired bool              `json:"x,omitempty"`
	Asks    bool              `json:"q,omitempty"`
	Due     provider.Time     `json:"d,omitempty"`
	Changed []provider.UUID   `json:"c,omitempty"` // instances that ended, were blocked or are gone
	Answers []provider.UUID   `json:"a,omitempty"`
	Notices []provider.Notice `json:"s,omitempty"`
	Lost    bool              `json:"l,omitempty"` // other signals were dropped: look at everything
}

func (s *signal) empty() bool {
	return len(s.Turns)+len(s.Tasks)+len(s.Freed)+len(s.Changed)+len(s.Answers)+len(s.Notices) == 0 && !s.Expired && !s.Asks && !s.Lost && s.Due == 0
}

// notifier tells waiting calls of this process and other processes what was committed.
type notifier struct {
	db        *database
	kinds     *kinds
	hub       *relational.Hub
	waiters   *waiters
	node      string
	channel   string
	ctx       context.Context //nolint:containedctx // it ends with the provider
	cancel    context.CancelFunc
	ended     sync.WaitGroup
	listening atomic.Bool // signals of other processes
	peers     peers

	mu      sync.Mutex
	pending relational.Effects // not yet sent
	lost    bool               // and some that never will be sent
	ready   chan struct{}
}

// publish announces a commit: to this process at once, except to the given call, and to the others soon.
func (w *notifier) publish(fx *relational.Effects, knows *waitingFetch) {
	for _, a := range fx.Answers {
		w.hub.Reply(a)
	}
	w.deliver(w.encode(fx), knows)
	w.keepFor(fx)
}

// hint tells everybody to poll for such effects.
func (w *notifier) hint(fx *relational.Effects) {
	w.deliver(w.encode(fx), nil)
	w.keepFor(fx)
}

// keepFor keeps effects until they can be sent.
func (w *notifier) keepFor(fx *relational.Effects) {
	w.mu.Lock()
	if len(w.pending.Changed)+len(w.pending.Answers)+len(w.pending.Notices) > maxPending {
		w.pending.Changed, w.pending.Answers, w.pending.Notices, w.lost = nil, nil, nil, true
	}
	w.pending.Merge(fx)
	w.mu.Unlock()
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// take returns what is to be sent.
func (w *notifier) take() (fx relational.Effects, out *signal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fx = w.pending
	out = w.encode(&fx)
	if now := w.waiters.clock.now(); now > 0 && out.Due > now.Add(fallback) {
		out.Due = 0 // other processes poll before then
	}
	out.Lost = w.lost
	w.pending, w.lost = relational.NewEffects(), false
	return fx, out
}

func (w *notifier) encode(fx *relational.Effects) *signal {
	out := &signal{Node: w.node, Expired: fx.Expired, Asks: fx.Asks, Changed: fx.Changed, Notices: fx.Notices}
	for kind := range fx.Turns {
		out.Turns = append(out.Turns, kind)
	}
	for kind := range fx.Tasks {
		out.Tasks = append(out.Tasks, kind)
	}
	kinds := w.kinds.get()
	for kind := range fx.Freed {
		if kinds.Awaited(kind) || w.kinds.stale.Load() {
			out.Freed = append(out.Freed, kind)
		}
	}
	for _, a := range fx.Answers {
		out.Answers = append(out.Answers, a.ID)
	}
	if due := min(fx.Due, provider.Time(fx.ElapsedDue)); due != relational.Never {
		out.Due = due
	}
	return out
}

// deliver wakes the calls of this process that a signal concerns, except one.
func (w *notifier) deliver(in *signal, but *waitingFetch) {
	w.kinds.note(in)
	w.waiters.notify(in, but)
	for _, key := range in.Changed {
		w.hub.Wake(key, nil)
	}
	w.hub.Announce(in.Notices)
	for _, id := range in.Answers {
		w.hub.Answered(id)
	}
}

// wakeAll makes all calls poll, because notifications may have been lost.
func (w *notifier) wakeAll() {
	w.kinds.stale.Store(true)
	w.hub.ForgetAlive()
	w.waiters.wakeAll()
	w.hub.Recheck()
}

// split halves a signal.
func (s *signal) split() (a, b *signal) {
	a, b = &signal{Node: s.Node, Expired: s.Expired, Asks: s.Asks, Due: s.Due, Lost: s.Lost}, &signal{Node: s.Node}
	a.Turns, b.Turns = halves(s.Turns)
	a.Tasks, b.Tasks = halves(s.Tasks)
	a.Freed, b.Freed = halves(s.Freed)
	a.Changed, b.Changed = halves(s.Changed)
	a.Answers, b.Answers = halves(s.Answers)
	a.Notices, b.Notices = halves(s.Notices)
	return a, b
}

func halves[T any](list []T) (a, b []T) { return list[:len(list)/2], list[len(list)/2:] }
