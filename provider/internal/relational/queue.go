package relational

import (
	"context"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

// Member is a writing call in the queue for a group.
type Member struct {
	Op        string
	Bytes     int // added to the transaction
	Needs     Needs
	Exclusive bool // it cannot share a group
	Step      bool // it commits a turn, or starts an instance with one
	Run       func(*Tx) error
	Done      chan struct{} // closed when Err is set
	Err       error
	taken     bool            // guarded by Queue.mu
	Skipped   int             // how often Queue.Free returned false
	Reserved  []provider.UUID // instances that its group reserves
	Conflicts int             // how often another transaction held what it needs
}

// Queue holds the calls that wait for a group. It is safe for concurrent use.
type Queue struct {
	// Signal has a value if something was queued since the last receive.
	Signal chan struct{}
	// Free reports whether a member may be taken now; nil: always. It is called under the queue's lock.
	Free func(*Member) bool

	mu      sync.Mutex
	urgent  []*Member // renewals
	rest    []*Member
	stopped bool
}

// NewQueue returns an empty queue.
func NewQueue() *Queue { return &Queue{Signal: make(chan struct{}, 1)} }

// Submit queues m. It returns false if the queue was stopped.
func (q *Queue) Submit(m *Member, urgent bool) bool {
	if !q.Add(m, urgent) {
		return false
	}
	q.Wake()
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

// Return queues a member again that its group could not carry out. It returns false if the queue was stopped.
func (q *Queue) Return(m *Member) bool {
	q.mu.Lock()
	stopped := q.stopped
	if !stopped {
		m.taken = false
		q.rest = append(q.rest, m)
	}
	q.mu.Unlock()
	q.Wake()
	return !stopped
}

// Len returns how many members wait.
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

// Wake sends the signal.
func (q *Queue) Wake() {
	select {
	case q.Signal <- struct{}{}:
	default:
	}
}

// Withdraw removes m from the queue. It returns false if m was taken already.
func (q *Queue) Withdraw(m *Member) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if m.taken {
		return false
	}
	m.taken = true // Take skips it
	return true
}

// Take moves members from the queue to a group, which may be empty. The group may have no more members than most and no
// more bytes than given, but always gets one if any is free. An exclusive member ends it.
func (q *Queue) Take(into []*Member, most, bytes int) (group []*Member, stopped bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	group, size, exclusive := into, 0, false
	for _, m := range into {
		size, exclusive = size+m.Bytes, m.Exclusive
	}
	for _, list := range []*[]*Member{&q.urgent, &q.rest} {
		n, kept := 0, 0
		for _, m := range *list {
			if len(group) == most || size > 0 && size+m.Bytes > bytes || exclusive || m.Exclusive && len(group) > 0 {
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
			size, exclusive = size+m.Bytes, m.Exclusive
			group = append(group, m)
		}
		*list = slices.Delete(*list, kept, n)
	}
	return group, q.stopped
}

// TakeSingle takes m if nothing else waits.
func (q *Queue) TakeSingle(m *Member) bool {
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

// Stop refuses new members.
func (q *Queue) Stop() {
	q.mu.Lock()
	q.stopped = true
	q.mu.Unlock()
	q.Wake()
}

// Await queues m and waits for its commit.
func (q *Queue) Await(ctx context.Context, closing <-chan struct{}, m *Member, urgent bool) error {
	if !q.Submit(m, urgent) {
		return provider.ErrClosed
	}
	return q.Wait(ctx, closing, m)
}

// Wait waits until the group of m has been committed. If ctx ends before a group took m, nothing was changed.
// Afterwards the outcome is unknown.
func (q *Queue) Wait(ctx context.Context, closing <-chan struct{}, m *Member) error {
	select {
	case <-m.Done:
		return m.Err
	case <-ctx.Done():
		if q.Withdraw(m) {
			return ctx.Err()
		}
		select {
		case <-m.Done: // both happened: prefer the known outcome
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
