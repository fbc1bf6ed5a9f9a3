package validations

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

func brokenStartMessages() []brokenRule {
	return []brokenRule{
		{name: "a start loses its messages", caught: "create/messages", breaks: startsBy(losesMessages)},
		{name: "a start gives the existing instance no message", caught: "create/messages-to-an-existing-instance", breaks: startsBy(joinsSilently)},
		{name: "a start joins an ended instance", caught: "create/messages-to-an-ended-instance", breaks: joinsEnded},
		{name: "a repeated start delivers again", caught: "create/messages-repeated", breaks: startsBy(joinsAgain)},
		{name: "an instance remembers few requests", caught: "create/messages-remembered", breaks: remembersFew},
		{name: "starts without a request are one", caught: "create/messages-without-a-request", breaks: startsBy(joinsOnce)},
		{name: "a first turn leaves the messages of its start", caught: "create/messages-of-a-first-turn", breaks: leavesMessages},
		{name: "a first turn consumes messages ahead of their time", caught: "create/messages-of-a-first-turn-at-once", breaks: startsBy(delaysNothing)},
	}
}

// startsBy changes the requests of Create.
func startsBy(change func(*provider.CreateRequest)) func(*mutant) {
	return func(m *mutant) { m.create.before(change) }
}

func losesMessages(req *provider.CreateRequest) { req.Messages = nil }

func joinsSilently(req *provider.CreateRequest) {
	if req.Policy == provider.IDUseExisting {
		req.Messages = nil
	}
}

func joinsEnded(m *mutant) {
	m.create.after(func(req provider.CreateRequest, res *provider.CreateResult, err *error) {
		if errors.Is(*err, provider.ErrEnded) {
			got, _ := m.Provider.Get(context.Background(), provider.GetRequest{ID: req.ID})
			res.Instance, *err = got.Instance, nil
		}
	})
}

func joinsAgain(req *provider.CreateRequest) {
	if req.Policy == provider.IDUseExisting && len(req.Messages) > 0 && req.RequestID == "second" {
		req.RequestID = ""
	}
}

func remembersFew(m *mutant) {
	var requests atomic.Int64
	var known sync.Map
	m.create.before(func(req *provider.CreateRequest) {
		if len(req.Messages) == 0 || req.RequestID == "" {
			return
		}
		n := requests.Add(1)
		if first, loaded := known.LoadOrStore(req.RequestID, n); loaded && first.(int64) < n-500 {
			req.RequestID += " again"
		}
	})
}

func joinsOnce(req *provider.CreateRequest) {
	if req.RequestID == "" && len(req.Messages) > 0 {
		req.RequestID = "none"
	}
}

func leavesMessages(m *mutant) {
	m.create.after(func(req provider.CreateRequest, res *provider.CreateResult, err *error) {
		if *err != nil || !res.Begun {
			return
		}
		for _, left := range req.Messages {
			_, _ = m.Provider.Send(context.Background(), provider.SendRequest{Key: req.Key, Message: left})
		}
		res.Instance = m.stored(context.Background(), req.Key)
	})
}

func delaysNothing(req *provider.CreateRequest) {
	for n := range req.Messages {
		if req.First != nil {
			req.Messages[n].Delay = 0
		}
	}
}
