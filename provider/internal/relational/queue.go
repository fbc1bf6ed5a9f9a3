package relational

import (
	"context"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

// Member is one writing call, queued to be folded into a group.
type Member struct {
	Op     string
	Bytes  int // that it adds to the transaction
	Needs  Needs
	Alone  bool // its group has no other member
	Step   bool // it is the commit of a turn, or the start of an instance with one
	Run    func(*Tx) error
	Done   chan struct{} // closed when Err is set
	Err    error
	taken  bool            // guarded by Queue.mu
	Passed int             // how often Queue.Free made it wait
	Taken  []provider.UUID // instances that its group keeps others away from
	Held   int             // how often its group found that another transaction holds what it needs
}

// Queue holds the calls that wait for a group. It is safe for concurrent use.
type Queue struct {
	// Signal has a value whenever something was queued since it was last received from.
	Signal chan struct{}
	// Free tells whether a member may be taken now; nil: always. It is called under the queue's lock.
	Free func(*Member) bool

	mu      sync.Mutex
	urgent  []*Member // renewals: they go first
	rest    []*Member
	stopped bool
}

// NewQueue makes an empty queue.
func NewQueue() *Queue { return &Queue{Signal: make(chan struct{}, 1)} }

// Submit queues m. It answers false if the queue was stopped.
func (q *Queue) Submit(m *Member, urgent bool) bool {
	if !q.Add(m, urgent) {
		return false
	}
	q.Poke()
	return true
}

// Add is Submit without a signal.
func (q *Queue) Add(m *Member, urgent bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return false
	}
	if urgent {
		q.urgent = append(q.urgent, m)
	} else {
		q.rest = append(q.rest, m)
	}
	return true
}

// Return queues a member again that a group could not carry out. It answers false if the queue was stopped.
func (q *Queue) Return(m *Member) bool {
	q.mu.Lock()
	stopped := q.stopped
	if !stopped {
		m.taken = false
		q.rest = append(q.rest, m)
	}
	q.mu.Unlock()
	q.Poke()
	return !stopped
}

// Len answers how many members wait.
func (q *Queue) Len() (n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, list := range [][]*Member{q.urgent, q.rest} {
		for _, m := range list {
			if !m.taken {
				n++
			}
		}
	}
	return n
}

// Poke makes whoever waits for Signal look.
func (q *Queue) Poke() {
	select {
	case q.Signal <- struct{}{}:
	default:
	}
}

// Withdraw takes m out of the queue; false if it was taken already.
func (q *Queue) Withdraw(m *Member) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.taken {
		return false
	}
	m.taken = true // skipped when its turn comes
	return true
}

// Take adds to a group, or makes one of none: no more than most members of at most bytes together,
// but one always, if any is free. A member that goes alone ends the group before it.
func (q *Queue) Take(into []*Member, most, bytes int) (group []*Member, stopped bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	group, size, alone := into, 0, false
	for _, m := range into {
		size, alone = size+m.Bytes, m.Alone
	}
	for _, list := range []*[]*Member{&q.urgent, &q.rest} {
		n, kept := 0, 0
		for _, m := range *list {
			if len(group) == most || size > 0 && size+m.Bytes > bytes || alone || m.Alone && len(group) > 0 {
				break
			}
			n++
			if m.taken {
				continue
			}
			if q.Free != nil && !q.Free(m) {
				(*list)[kept] = m
				kept++
				continue
			}
			m.taken = true
			size, alone = size+m.Bytes, m.Alone
			group = append(group, m)
		}
		*list = slices.Delete(*list, kept, n)
	}
	return group, q.stopped
}

// TakeLone takes m if nothing else waits.
func (q *Queue) TakeLone(m *Member) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.taken || len(q.urgent)+len(q.rest) != 1 {
		return false
	}
	m.taken = true
	clear(q.urgent)
	clear(q.rest)
	q.urgent, q.rest = q.urgent[:0], q.rest[:0]
	return true
}

// Stop refuses what comes from now on.
func (q *Queue) Stop() {
	q.mu.Lock()
	q.stopped = true
	q.mu.Unlock()
	q.Poke()
}

// Await queues m and waits for it.
func (q *Queue) Await(ctx context.Context, closing <-chan struct{}, m *Member, urgent bool) error {
	if !q.Submit(m, urgent) {
		return provider.ErrClosed
	}
	return q.Wait(ctx, closing, m)
}

// Wait waits until the group of m, which is queued, has been committed. A caller that gives up before the
// group took m up changed nothing; afterwards the outcome is unknown.
func (q *Queue) Wait(ctx context.Context, closing <-chan struct{}, m *Member) error {
	select {
	case <-m.Done:
		return m.Err
	case <-ctx.Done():
		if q.Withdraw(m) {
			return ctx.Err()
		}
		select {
		case <-m.Done: // both came at once: the better news is the answer
			return m.Err
		default:
		}
		return &provider.Error{Op: m.Op, Outcome: provider.OutcomeUnknown, Retryable: true, Err: ctx.Err()}
	case <-closing:
		if q.Withdraw(m) {
			return provider.ErrClosed
		}
		<-m.Done
		return m.Err
	}
}
