package validations

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenListeners() []brokenRule {
	return []brokenRule{
		{name: "an end tells no listener", caught: "deliver/listener-of-a-commit", breaks: startsBy(hasNoListener)},
		{name: "a fetch forgets the listener", caught: "deliver/listener-of-a-fetched-instance", breaks: forgetsFetched},
		{name: "continue-as-new tells the listener", caught: "deliver/listener-and-continue-as-new", breaks: tellsOfNext},
		{name: "a listener is told once", caught: "deliver/listener-after-a-reset", breaks: tellsOnce},
		{name: "a listener is told in any execution", caught: "deliver/listener-that-cannot-be-told", breaks: startsBy(tellsAnyListener)},
		{name: "a deleted listener takes along what it listens to", caught: "clean/listener-is-no-parent", breaks: deletesHeard},
		{name: "a start tells its listener of an existing instance", caught: "deliver/listener-of-an-existing-instance", breaks: tellsOfExisting},
		{name: "a listener is told too early", caught: "deliver/listener-is-told-later", breaks: startsBy(tellsAtOnce)},
	}
}

func hasNoListener(req *provider.CreateRequest) { req.Listener = nil }

func changeListener(req *provider.CreateRequest, change func(*provider.NewMessage)) {
	if req.Listener != nil {
		l := *req.Listener
		change(&l.Message)
		req.Listener = &l
	}
}

func tellsAnyListener(req *provider.CreateRequest) {
	changeListener(req, func(m *provider.NewMessage) { m.Execution = 0 })
}

func tellsAtOnce(req *provider.CreateRequest) {
	changeListener(req, func(m *provider.NewMessage) { m.Delay = 0 })
}

// recordListeners records the listeners of new instances by their keys.
func recordListeners(m *mutant) *sync.Map {
	var known sync.Map
	m.create.before(func(req *provider.CreateRequest) {
		if req.Listener != nil {
			known.Store(req.Key, *req.Listener)
		}
	})
	return &known
}

func (m *mutant) tell(known *sync.Map, key provider.UUID) {
	if l, ok := known.Load(key); ok {
		l := l.(provider.Listener)
		_, _ = m.Provider.Send(context.Background(), provider.SendRequest{Key: l.Key, Message: l.Message})
	}
}

func tellsOfNext(m *mutant) {
	known := recordListeners(m)
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
		if *err == nil && req.Next != nil {
			m.tell(known, req.Key)
		}
	})
}

func forgetsFetched(m *mutant) {
	startsBy(hasNoListener)(m)
	known := recordListeners(m)
	m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		for _, turn := range res.Turns {
			known.Delete(turn.Instance.Key)
		}
	})
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
		if *err == nil && req.Status.Ended() {
			m.tell(known, req.Key)
		}
	})
}

func tellsOnce(m *mutant) {
	startsBy(hasNoListener)(m)
	known := recordListeners(m)
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
		if *err == nil && req.Status.Ended() {
			m.tell(known, req.Key)
			known.Delete(req.Key)
		}
	})
}

func deletesHeard(m *mutant) {
	known := recordListeners(m)
	m.remove.after(func(req provider.DeleteRequest, _ *provider.DeleteResult, _ *error) {
		known.Range(func(key, l any) bool {
			if l.(provider.Listener).Key == req.Key {
				_, _ = m.Provider.Delete(context.Background(), provider.DeleteRequest{Key: key.(provider.UUID), Force: true})
			}
			return true
		})
	})
}

func tellsOfExisting(m *mutant) {
	m.create.after(func(req provider.CreateRequest, res *provider.CreateResult, err *error) {
		if *err == nil && !res.Created && req.Listener != nil {
			_, _ = m.Provider.Send(context.Background(), provider.SendRequest{Key: req.Listener.Key, Message: req.Listener.Message})
		}
	})
}
