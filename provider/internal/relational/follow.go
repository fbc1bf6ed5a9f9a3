package relational

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
)

// Followed is what a call follows: one key-value of an instance, or with Name "" all that Get returns of it.
type Followed struct {
	Key  provider.UUID
	Name string
}

// Source is how calls that follow read the store.
type Source struct {
	Get func(ctx context.Context, req *provider.GetRequest) (provider.GetResult, error)
	// Stamps returns a number for each item, which differs from the last one if the item has changed. For a key-value, the end
	// and the Blocked flag of its instance count, too. It returns nil if nothing in the store has changed since the last call.
	Stamps func(ctx context.Context, list []Followed) ([]uint64, error)
	Now    func() provider.Time
	Failed func(err error) // gets the error of the first of several polls in a row that fail
}

// followers are the calls that wait for a key-value or a mark. Commits of this process wake them by key. For all other changes
// one of the calls, the poller, polls everything that is followed. It is safe for concurrent use.
type followers struct {
	count  atomic.Int64
	poller chan struct{} // holds a token unless a call is the poller

	mu         sync.Mutex
	calls      map[provider.UUID]map[*follower]struct{}
	stamps     map[Followed]uint64 // since what they stand for was polled last, no commit of this process has changed it
	unfollowed map[Followed]bool   // what is no longer followed; true: since before the last poll. Its stamp stays until then: most calls are repeated
	nextPoll   time.Time           // when the poller polls
	polledAt   time.Time           // when the last poll that succeeded began
	pollFailed bool                // the last poll
}

// A follower is one call. It holds at most one pending wake-up.
type follower struct {
	Followed

	wake chan struct{}
}

const (
	// pollEvery is the shortest time between two polls.
	pollEvery = 250 * time.Millisecond
	// pollShare is the share of the time that polls may take: one part in so many.
	pollShare = 100
	// pollAtMost is the longest time between two polls all the same. Far from its server a poll takes long, and changes must be seen within
	// a second.
	pollAtMost = 500 * time.Millisecond
)

func newFollowers() *followers {
	f := &followers{
		poller: make(chan struct{}, 1), calls: make(map[provider.UUID]map[*follower]struct{}), stamps: make(map[Followed]uint64),
		unfollowed: make(map[Followed]bool),
	}
	f.poller <- struct{}{}
	return f
}

func (f *followers) add(what Followed) *follower {
	call := &follower{Followed: what, wake: make(chan struct{}, 1)}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) == 0 {
		f.nextPoll = time.Now().Add(pollEvery)
	}
	if f.calls[what.Key] == nil {
		f.calls[what.Key] = make(map[*follower]struct{})
	}
	f.calls[what.Key][call] = struct{}{}
	delete(f.unfollowed, what)
	f.count.Add(1)
	return call
}

func (f *followers) remove(call *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count.Add(-1)
	same := f.calls[call.Key]
	delete(same, call)
	for other := range same {
		if other.Name == call.Name {
			return
		}
	}
	f.unfollowed[call.Followed] = false
	if len(same) == 0 {
		delete(f.calls, call.Key)
	}
	if len(f.calls) == 0 { // no poll would come
		clear(f.stamps)
		clear(f.unfollowed)
	}
}

// polledSince reports whether a poll has succeeded lately, after a moment. Then no wake-up since that moment is lost.
func (f *followers) polledSince(since time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.polledAt.After(since) && time.Since(f.polledAt) < recheckEvery/3
}

// changed wakes the calls that follow an instance and for which concerns holds. Their stamps are of no use: a key-value that gets its former
// value back from another process would have the same.
func (f *followers) changed(key provider.UUID, concerns func(name string) bool) {
	f.wake(key, concerns)
	for call := range f.calls[key] {
		if concerns(call.Name) {
			delete(f.stamps, call.Followed)
		}
	}
	for what := range f.unfollowed {
		if what.Key == key && concerns(what.Name) {
			delete(f.stamps, what)
		}
	}
}

// wake wakes the calls that follow an instance and for which concerns holds.
func (f *followers) wake(key provider.UUID, concerns func(name string) bool) {
	for call := range f.calls[key] {
		if !concerns(call.Name) {
			continue
		}
		select {
		case call.wake <- struct{}{}:
		default: // its wake-up is pending, and it will see this change, too
		}
	}
}

// Followed reports whether a call follows something, so that commits must call WakeFollowers.
func (h *Hub) Followed() bool { return h.follow.count.Load() > 0 }

// WakeFollowers wakes the calls that follow what a commit has changed: instances, and key-values. Ended and blocked instances, and
// those that are gone, are in fx.Changed and concern all that follow them.
func (h *Hub) WakeFollowers(touched []provider.UUID, fx *Effects) {
	if !h.Followed() { // a call that follows later reads what was committed
		return
	}
	f := h.follow
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range touched {
		f.changed(key, func(name string) bool { return name == "" })
	}
	for _, v := range fx.Values {
		f.changed(v.Key, func(name string) bool { return name == v.Name })
	}
	for _, key := range fx.Changed {
		f.changed(key, func(string) bool { return true })
	}
}

// WakeFollowersOf wakes all calls that follow an instance.
func (h *Hub) WakeFollowersOf(key provider.UUID) {
	h.WakeFollowers(nil, &Effects{Changed: []provider.UUID{key}})
}

// poll compares the stamps of everything that is followed with the last ones. A call that was not polled for yet is woken, because
// a change may lie between its own read and this poll.
func (f *followers) poll(ctx context.Context, from *Source) {
	f.mu.Lock()
	list := make([]Followed, 0, len(f.calls))
	seen := make(map[Followed]struct{}, len(f.calls))
	for _, calls := range f.calls {
		for call := range calls {
			if _, twice := seen[call.Followed]; !twice {
				seen[call.Followed] = struct{}{}
				list = append(list, call.Followed)
			}
		}
	}
	f.mu.Unlock()
	began := time.Now()
	stamps, err := from.Stamps(ctx, list)
	took := time.Since(began)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.nextPoll = time.Now().Add(max(pollEvery, min(pollShare*took, pollAtMost)))
	first := err != nil && !f.pollFailed && ctx.Err() == nil
	f.pollFailed = err != nil
	if first {
		from.Failed(err)
	}
	if err == nil {
		f.polledAt = began
	}
	if err != nil || stamps == nil { // the calls meet a lasting error themselves
		return
	}
	for what, long := range f.unfollowed {
		if f.unfollowed[what] = true; long {
			delete(f.stamps, what)
			delete(f.unfollowed, what)
		}
	}
	for i, what := range list {
		before, known := f.stamps[what]
		if len(f.calls[what.Key]) == 0 {
			continue
		}
		f.stamps[what] = stamps[i]
		if !known || before != stamps[i] {
			f.wake(what.Key, func(name string) bool { return name == what.Name })
		}
	}
}

// nextPollAt returns when the poller polls next.
func (f *followers) nextPollAt() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nextPoll
}

// Await blocks until a result ends the wait of req, which must be one for a key-value or a mark. It sets the key of req.
func (h *Hub) Await(
	ctx context.Context, closing <-chan struct{}, req *provider.GetRequest, key provider.UUID, from *Source,
) (provider.GetResult, error) {
	f := h.follow
	what := Followed{Key: key}
	if req.WaitValue {
		what.Name = req.Value
	}
	call := f.add(what)
	defer f.remove(call)
	w := watch{req: req, from: from, polledSince: f.polledSince, until: time.Now().Add(min(req.Wait, provider.MaxWait))}
	if req.Mark != "" {
		w.pace = provider.MarkPace
	}
	req.Key = key
	w.next, w.due = time.Now().Add(w.pace), true
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	poller := f.poller
	defer func() {
		if poller == nil {
			f.poller <- struct{}{}
		}
	}()
	for {
		if res, over, err := w.read(ctx); over || err != nil {
			return res, err
		}
		wake := w.wakeAt()
		if poller == nil {
			if at := f.nextPollAt(); at.Before(wake) {
				wake = at
			}
		}
		timer.Reset(time.Until(wake))
		select {
		case <-call.wake:
			w.due = true
		case <-poller:
			poller = nil // only one receives
		case <-timer.C:
			if poller == nil && !time.Now().Before(f.nextPollAt()) {
				f.poll(ctx, from)
			}
		case <-ctx.Done():
			return provider.GetResult{}, ctx.Err()
		case <-closing:
			return provider.GetResult{}, provider.ErrClosed
		}
	}
}

// A watch is the reads of one call that follows.
type watch struct {
	req         *provider.GetRequest
	from        *Source
	pace        time.Duration // shortest time between two reads
	until       time.Time     // when the wait has passed
	next        time.Time     // when the call may read
	due         bool          // there is something to read
	last        time.Time     // when it has read
	again       time.Time     // when it reads without a wake-up, unless polls say that nothing has changed
	lapse       bool          // something lapses then, whatever polls say
	polledSince func(since time.Time) bool
}

// read reads the instance if it may have changed and it is time to, or the wait has passed.
func (w *watch) read(ctx context.Context) (res provider.GetResult, over bool, err error) {
	now := time.Now()
	passed := !now.Before(w.until)
	if !passed && now.Before(w.next) || !passed && !w.due && now.Before(w.again) {
		return res, false, nil
	}
	if !passed && !w.due && !w.lapse && w.polledSince(w.last) {
		w.again = now.Add(recheckEvery)
		return res, false, nil
	}
	w.last = now
	res, err = w.from.Get(ctx, w.req)
	if err != nil || passed || w.req.Ends(&res) {
		return res, true, err
	}
	now = time.Now()
	w.due, w.lapse, w.next, w.again = false, false, now.Add(w.pace), now.Add(recheckEvery)
	if at := res.NextLapse(); at != 0 && at.Sub(w.from.Now()) < recheckEvery {
		w.lapse, w.again = true, now.Add(at.Sub(w.from.Now()))
	}
	return res, false, nil
}

// wakeAt returns when the call reads next if nothing wakes it.
func (w *watch) wakeAt() time.Time {
	at := w.again
	if w.due || at.Before(w.next) {
		at = w.next
	}
	if w.until.Before(at) {
		at = w.until
	}
	return at
}
