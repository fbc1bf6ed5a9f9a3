package relational

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// Hub holds the calls that wait for an instance or an answer, by key, so that a commit finds its own quickly. It is safe
// for concurrent use. Wake wakes waits for an end and the askers of an instance, WakeFollowers waits for a key-value or a mark, Reply one
// asker. Fetches do not wait here: each store has its own list of them.
type Hub struct {
	mu          sync.Mutex
	instances   map[provider.UUID]*waiter  // the first of each list
	waiters     int                        // in all lists of instances
	alive       map[provider.UUID]struct{} // instances that this process created and that Wake was not called for
	asks        map[provider.UUID]chan Answer
	askers      map[provider.UUID][]provider.UUID // the questions to an instance
	nextRecheck chan struct{}                     // closed and replaced when another process may have written
	follow      *followers

	listeners sync.RWMutex
	notices   map[*func(provider.Notice)]struct{} // guarded by listeners
}

// A waiter is a waiting call. It holds at most one row that it has not received. A nil row makes the call read the store.
type waiter struct {
	rows       chan *provider.Instance
	prev, next *waiter // of the same instance
}

// NewHub returns an empty hub.
func NewHub() *Hub {
	return &Hub{
		instances: make(map[provider.UUID]*waiter), alive: make(map[provider.UUID]struct{}), asks: make(map[provider.UUID]chan Answer),
		askers:      make(map[provider.UUID][]provider.UUID),
		nextRecheck: make(chan struct{}), follow: newFollowers(), notices: make(map[*func(provider.Notice)]struct{}),
	}
}

// watch registers a waiting call. It reports whether the instance is known to be neither ended nor blocked, so that the
// call need not read it before it is woken.
func (h *Hub) watch(key provider.UUID) (w *waiter, alive bool) {
	w = &waiter{rows: make(chan *provider.Instance, 1)}
	h.mu.Lock()
	defer h.mu.Unlock()
	if w.next = h.instances[key]; w.next != nil {
		w.next.prev = w
	}
	h.instances[key] = w
	h.waiters++
	_, alive = h.alive[key]
	return w, alive
}

func (h *Hub) unwatch(key provider.UUID, w *waiter) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.waiters--
	if w.next != nil {
		w.next.prev = w.prev
	}
	switch {
	case w.prev != nil:
		w.prev.next = w.next
	case w.next != nil:
		h.instances[key] = w.next
	default:
		delete(h.instances, key)
	}
}

// Watched reports whether a call waits for the instance.
func (h *Hub) Watched(key provider.UUID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.instances[key] != nil
}

// Waiting returns how many calls wait for what another process may write.
func (h *Hub) Waiting() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.waiters + len(h.asks) + int(h.follow.count.Load())
}

// Wake wakes the calls that wait for an instance. They read it unless they get its row.
func (h *Hub) Wake(key provider.UUID, row *provider.Instance) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.alive, key)
	for w := h.instances[key]; w != nil; w = w.next {
		select {
		case w.rows <- row:
		default: // its wake-up is pending, and it will see this change, too
		}
	}
	for _, id := range h.askers[key] { // the instance may be gone
		h.reply(Answer{ID: id, Unread: true})
	}
}

// maxAlive bounds alive.
const maxAlive = 8192

// MarkAlive records instances that a commit created. It is called before Wake for the same commit.
func (h *Hub) MarkAlive(keys []provider.UUID) {
	if len(keys) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.alive) > maxAlive {
		clear(h.alive)
	}
	for _, key := range keys {
		h.alive[key] = struct{}{}
	}
}

// ForgetAlive forgets the instances of MarkAlive, because other processes may have changed them.
func (h *Hub) ForgetAlive() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.alive)
}

// Recheck makes every waiting call read the store.
func (h *Hub) Recheck() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.instances)+len(h.asks) == 0 {
		return
	}
	close(h.nextRecheck)
	h.nextRecheck = make(chan struct{})
}

// NextRecheck returns a channel that the next Recheck closes.
func (h *Hub) NextRecheck() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.nextRecheck
}

// Expect registers the asker of a question. It returns nil if the question has one.
func (h *Hub) Expect(id provider.UUID) <-chan Answer {
	ch := make(chan Answer, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asks[id] != nil {
		return nil
	}
	h.asks[id] = ch
	return ch
}

// Expected reports whether the asker of a question is in this process.
func (h *Hub) Expected(id provider.UUID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asks[id] != nil
}

// ExpectOf makes Wake wake the asker, too. The function stop ends that.
func (h *Hub) ExpectOf(id, key provider.UUID) (stop func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.askers[key] = append(h.askers[key], id)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		left := slices.DeleteFunc(h.askers[key], func(other provider.UUID) bool { return other == id })
		if h.askers[key] = left; len(left) == 0 {
			delete(h.askers, key)
		}
	}
}

// Unexpect removes an asker.
func (h *Hub) Unexpect(id provider.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.asks, id)
}

// Reply sends an answer to its asker.
func (h *Hub) Reply(a Answer) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reply(a)
}

func (h *Hub) reply(a Answer) {
	ch := h.asks[a.ID]
	if ch == nil {
		return
	}
	select {
	case before := <-ch: // the asker has not seen it
		if !before.Unread {
			a = before
		}
	default:
	}
	ch <- a
}

// Answered makes the asker of a question, and no other call, read its answer in the store.
func (h *Hub) Answered(id provider.UUID) { h.Reply(Answer{ID: id, Unread: true}) }

// Notify implements [provider.Notifier].
func (h *Hub) Notify(fn func(provider.Notice)) (stop func()) {
	id := &fn
	h.listeners.Lock()
	defer h.listeners.Unlock()
	h.notices[id] = struct{}{}
	return func() {
		h.listeners.Lock() // waits while fn runs
		defer h.listeners.Unlock()
		delete(h.notices, id)
	}
}

// Announce calls the functions that Notify registered.
func (h *Hub) Announce(list []provider.Notice) {
	if len(list) == 0 {
		return
	}
	h.listeners.RLock()
	defer h.listeners.RUnlock()
	for fn := range h.notices {
		for _, notice := range list {
			(*fn)(notice)
		}
	}
}

// recheckEvery bounds how long a lost wake-up delays a waiting call.
const recheckEvery = 15 * time.Second

// EndsWait reports whether a row ends the wait of a Get.
func EndsWait(req *provider.GetRequest, in *provider.Instance) bool {
	return in.Status.Ended() || req.WaitBlocked && in.Blocked != nil
}

// AwaitEnded blocks until the instance has ended or something else ends the wait of req. It sets the key of req. get reads
// the stored instance, and now returns the storage's time.
func (h *Hub) AwaitEnded(
	ctx context.Context, closing <-chan struct{}, req *provider.GetRequest, key provider.UUID,
	get func(context.Context, *provider.GetRequest) (provider.GetResult, error), now func() provider.Time,
) (provider.GetResult, error) {
	recheck := h.NextRecheck() // before each read, so that no change is missed
	w, alive := h.watch(key)
	defer h.unwatch(key, w)
	req.Key = key
	until := time.Now().Add(min(req.Wait, provider.MaxWait))
	timer := time.NewTimer(min(time.Until(until), recheckEvery)) // one timer for both, because many calls may wait
	defer timer.Stop()
	plain := !req.WithTasks && !req.WithValues && !req.WithMark && req.Value == ""
	for ; ; recheck, alive = h.NextRecheck(), false {
		if !alive {
			if res, err := get(ctx, req); err != nil || EndsWait(req, &res.Instance) {
				return res, err
			}
		}
		select {
		case row := <-w.rows:
			if row != nil && plain && EndsWait(req, row) {
				return provider.GetResult{Instance: cloneInstance(row), Now: now()}, nil
			}
		case <-recheck:
		case <-timer.C:
			left := time.Until(until)
			if left <= 0 {
				return get(ctx, req)
			}
			timer.Reset(min(left, recheckEvery))
		case <-ctx.Done():
			return provider.GetResult{}, ctx.Err()
		case <-closing:
			return provider.GetResult{}, provider.ErrClosed
		}
	}
}

// cloneInstance copies a row that several waiting calls get, because results belong to their callers.
func cloneInstance(row *provider.Instance) provider.Instance {
	in := *row
	in.CustomStatus, in.Result, in.Excerpt = slices.Clone(in.CustomStatus), slices.Clone(in.Result), slices.Clone(in.Excerpt)
	in.Attributes = slices.Clone(in.Attributes)
	if in.Blocked != nil {
		b := *in.Blocked
		in.Blocked = &b
	}
	return in
}
