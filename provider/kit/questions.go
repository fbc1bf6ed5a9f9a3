package kit

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// Asked is an instance to which a question goes.
type Asked struct {
	Instance   provider.Instance
	Owner      string        // to which it sticks, "" for none
	OwnerUntil provider.Time // end of the stickiness
}

// Find returns the instance under key, or under the ID when key is zero. It returns an error that is [provider.ErrNotFound] for an
// instance that is not there or is being deleted.
type Find func(ctx context.Context, id string, key provider.UUID) (Asked, error)

// Questions implements [provider.Asker] in memory. A question lives as long as the call that asked it, so it need not survive a
// crash. Each waiting Ask reads its instance after each change of the store's hub, to learn that it was deleted. It is safe for
// concurrent use.
type Questions struct {
	store   *Hub // of the store: its changes and its end
	changes *Hub // changes with each question
	now     func() provider.Time
	find    Find

	mu     sync.Mutex
	open   map[provider.UUID]*question
	number int64
}

type question struct {
	id          provider.UUID
	number      int64 // of all questions so far
	key         provider.UUID
	as          provider.Capability // zero: that of the instance
	ownerOnly   provider.Time       // left to the owner of the instance until then
	payload     []byte
	hiddenUntil provider.Time // hidden from other fetches until then
	answer      []byte
	answered    chan struct{} // closed by the answer
}

// NewQuestions returns the questions of a store. now is the store's clock. The store closes the hub when it closes.
func NewQuestions(store *Hub, now func() provider.Time, find Find) *Questions {
	changes := NewHub(store.interval)
	changes.closed = store.closed
	return &Questions{store: store, changes: changes, now: now, find: find, open: map[provider.UUID]*question{}}
}

// Ask implements provider.Asker.
func (q *Questions) Ask(ctx context.Context, req provider.AskRequest) (res provider.AskResult, err error) {
	if err := q.enter(ctx, req.Validate()); err != nil {
		return res, err
	}
	to, err := q.find(ctx, req.ID, req.Key)
	if err != nil {
		return res, err
	}
	one, err := q.add(&req, to.Instance.Key)
	if err != nil {
		return res, err
	}
	defer q.remove(one)
	over := time.NewTimer(min(req.Wait, provider.MaxWait))
	defer over.Stop()
	for {
		changed := q.store.next() // before the poll, so that no change is missed
		if _, err := q.find(ctx, "", one.key); err != nil {
			return res, err
		}
		select {
		case <-one.answered:
			return provider.AskResult{Payload: one.answer, Now: q.now()}, nil
		case <-changed:
		case <-over.C:
			return res, provider.ErrNoAnswer
		case <-ctx.Done():
			return res, ctx.Err()
		case <-q.store.closed:
			return res, provider.ErrClosed
		}
	}
}

// enter refuses a call before it does anything.
func (q *Questions) enter(ctx context.Context, invalid error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case invalid != nil:
		return invalid
	case q.store.isClosed():
		return provider.ErrClosed
	default:
		return nil
	}
}

// add stores a question and wakes the fetches.
func (q *Questions) add(req *provider.AskRequest, key provider.UUID) (*question, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open[req.AskID] != nil {
		return nil, provider.ErrExists
	}
	q.number++
	one := &question{
		id: req.AskID, number: q.number, key: key, as: req.As, ownerOnly: q.now().Add(provider.AskHome), payload: slices.Clone(req.Payload),
		answered: make(chan struct{}),
	}
	q.open[one.id] = one
	q.changes.Changed()
	return one, nil
}

func (q *Questions) remove(one *question) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.open, one.id)
}

// Keys scans the open questions, by the keys of their instances, for an [Inspector].
func (q *Questions) Keys(ctx context.Context, each func(key provider.UUID) (more bool)) error {
	if err := q.enter(ctx, nil); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, one := range q.open {
		if !each(one.key) {
			break
		}
	}
	return nil
}

// FetchAsks implements provider.Asker.
func (q *Questions) FetchAsks(ctx context.Context, req provider.FetchAsksRequest) (res provider.FetchAsksResult, err error) {
	if err := q.enter(ctx, req.Validate()); err != nil {
		return res, err
	}
	return Block(ctx, q.changes, req.Wait, func() (res provider.FetchAsksResult, found bool, err error) {
		q.mu.Lock()
		defer q.mu.Unlock()
		res.Now = q.now()
		waiting := make([]*question, 0, len(q.open))
		for _, one := range q.open {
			waiting = append(waiting, one)
		}
		slices.SortFunc(waiting, func(a, b *question) int { return cmp.Compare(a.number, b.number) })
		for _, one := range waiting {
			if len(res.Asks) == req.Max {
				break
			}
			to, err := q.find(ctx, "", one.key)
			if errors.Is(err, provider.ErrNotFound) {
				continue // its Ask learns that by itself
			}
			if err != nil {
				return res, false, err
			}
			if one.fetchable(&req, &to, res.Now) {
				one.hiddenUntil = res.Now.Add(req.Lease)
				res.Asks = append(res.Asks, provider.OpenAsk{AskID: one.id, Instance: to.Instance, Payload: slices.Clone(one.payload)})
			}
		}
		return res, len(res.Asks) > 0, nil
	})
}

// fetchable reports whether a fetch may take the question now.
func (one *question) fetchable(req *provider.FetchAsksRequest, to *Asked, now provider.Time) bool {
	wants := one.as
	if wants == (provider.Capability{}) {
		wants = provider.Capability{Name: to.Instance.Name, CodeVersion: to.Instance.CodeVersion}
	}
	heldForOwner := req.Owner != "" && to.Owner != req.Owner && min(one.ownerOnly, to.OwnerUntil) > now
	return !one.isAnswered() && one.hiddenUntil <= now && !heldForOwner && to.Instance.EngineLevel <= req.EngineLevel && slices.Contains(req.Capabilities, wants)
}

// isAnswered reports whether the question was answered. Its call may not have returned yet.
func (one *question) isAnswered() bool {
	select {
	case <-one.answered:
		return true
	default:
		return false
	}
}

// Answer implements provider.Asker.
func (q *Questions) Answer(ctx context.Context, req provider.AnswerRequest) error {
	if err := q.enter(ctx, req.Validate()); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	one := q.open[req.AskID]
	if one == nil || one.isAnswered() {
		return provider.ErrNotFound
	}
	one.answer = slices.Clone(req.Payload)
	close(one.answered)
	return nil
}
