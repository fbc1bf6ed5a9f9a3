package validations

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/perdure/perdure/provider"
)

func brokenAsk() []brokenRule {
	return []brokenRule{
		{name: "an answer is lost", caught: "ask/answered", breaks: answers(losesAnswer)},
		{name: "an ended instance refuses questions", caught: "ask/ended-instance", breaks: asksNoEnded},
		{name: "a second answer is taken", caught: "ask/answered-once", breaks: answersTwice},
		{name: "questions are fetched whatever their level", caught: "ask/capabilities", breaks: fetchesAsks(wantsAnyLevel)},
		{name: "a fetch returns one question more than Max", caught: "ask/up-to-max", breaks: fetchesAsks(takesOneAskMore)},
		{name: "a leased question is returned to others", caught: "ask/taken", breaks: givesAgain},
		{name: "a question outlives its time", caught: "ask/removed", breaks: keepsQuestion},
		{name: "a question without a wait is asked", caught: "ask/wait-is-positive", breaks: asksAtOnce},
		{name: "a fetch of questions does not block", caught: "ask/fetch-passes", breaks: fetchesAsks(fetchesAtOnce)},
		{name: "As is ignored", caught: "ask/as", breaks: asking(func(req *provider.AskRequest) { req.As = provider.Capability{} })},
		{name: "As takes a question from every level", caught: "ask/as-keeps-the-level", breaks: fetchesAsks(wantsOtherLevel)},
		{name: "As without a name is accepted", caught: "ask/as-needs-a-name", breaks: asking(func(req *provider.AskRequest) {
			if req.As.Name == "" {
				req.As = provider.Capability{}
			}
		})},
		{name: "questions know no home", caught: "ask/home", breaks: fetchesAsks(func(req *provider.FetchAsksRequest) { req.Owner = "" })},
		{name: "questions never leave home", caught: "ask/home-ends", breaks: keepsHome},
		{name: "a question to a deleted instance waits", caught: "ask/deleted", breaks: asksWhateverIsThere},
		{name: "a question outlives its instance", caught: "ask/deleted-meanwhile", breaks: asksInVain},
		{name: "an answer wakes all that asked", caught: "ask/wakes-its-asker", breaks: wakesAllAskers},
	}
}

// asking changes the requests of Ask.
func asking(change func(*provider.AskRequest)) func(*mutant) {
	return func(m *mutant) { m.ask.before(change) }
}

func wantsOtherLevel(req *provider.FetchAsksRequest) {
	if len(req.Capabilities) > 0 && req.Capabilities[0].Name == "other" {
		req.EngineLevel += 3
	}
}

// keepsHome returns questions to an instance that sticks to their owner only.
func keepsHome(m *mutant) {
	m.asks.around(func(ctx context.Context, req provider.FetchAsksRequest, fetch method[provider.FetchAsksRequest, provider.FetchAsksResult]) (provider.FetchAsksResult, error) {
		if req.Owner == node {
			req.Capabilities = nil
		}
		return fetch(ctx, req)
	})
}

// asksWhateverIsThere lets a question to a missing instance wait.
func asksWhateverIsThere(m *mutant) { waitsWithout(m, true) }

// asksInVain lets a question wait although its instance is gone.
func asksInVain(m *mutant) { waitsWithout(m, false) }

func waitsWithout(m *mutant, before bool) {
	m.ask.around(func(ctx context.Context, req provider.AskRequest, ask method[provider.AskRequest, provider.AskResult]) (provider.AskResult, error) {
		there := !m.stored(ctx, req.Key).Key.IsZero()
		res, err := ask(ctx, req)
		if errors.Is(err, provider.ErrNotFound) && there != before {
			<-ctx.Done()
		}
		return res, err
	})
}

func wakesAllAskers(m *mutant) {
	var open, looks atomic.Int64
	m.ask.around(func(ctx context.Context, req provider.AskRequest, ask method[provider.AskRequest, provider.AskResult]) (provider.AskResult, error) {
		open.Add(1)
		defer open.Add(-1)
		return ask(ctx, req)
	})
	m.answer.after(func(provider.AnswerRequest, *struct{}, *error) { looks.Add(open.Load()) })
	counts(func(c *provider.Counters) { c.AskLooks += looks.Load() })(m)
}

// answers changes the requests of Answer.
func answers(change func(*provider.AnswerRequest)) func(*mutant) {
	return func(m *mutant) { m.answer.before(change) }
}

// fetchesAsks changes the requests of FetchAsks.
func fetchesAsks(change func(*provider.FetchAsksRequest)) func(*mutant) {
	return func(m *mutant) { m.asks.before(change) }
}

func losesAnswer(req *provider.AnswerRequest) { req.Payload = nil }

func asksNoEnded(m *mutant) {
	m.ask.around(func(ctx context.Context, req provider.AskRequest, ask method[provider.AskRequest, provider.AskResult]) (provider.AskResult, error) {
		if m.stored(ctx, req.Key).Status.Ended() {
			return provider.AskResult{}, provider.ErrEnded
		}
		return ask(ctx, req)
	})
}

func answersTwice(m *mutant) {
	var known sync.Map
	m.answer.after(func(req provider.AnswerRequest, _ *struct{}, err *error) {
		if *err == nil {
			known.Store(req.AskID, true)
		} else if _, ok := known.Load(req.AskID); ok {
			*err = nil
		}
	})
}

func wantsAnyLevel(req *provider.FetchAsksRequest) { req.EngineLevel += 3 }

func takesOneAskMore(req *provider.FetchAsksRequest) {
	if req.Max > 1 && req.Max < provider.MaxBatch {
		req.Max++
	}
}

func givesAgain(m *mutant) {
	var given atomic.Pointer[[]provider.OpenAsk]
	m.asks.after(func(req provider.FetchAsksRequest, res *provider.FetchAsksResult, err *error) {
		switch last := given.Load(); {
		case len(res.Asks) > 0:
			given.Store(&res.Asks)
		case last != nil && req.Wait == 0 && *err == nil:
			res.Asks = *last
		}
	})
}

func keepsQuestion(m *mutant) {
	var left atomic.Pointer[provider.OpenAsk]
	m.ask.after(func(req provider.AskRequest, _ *provider.AskResult, err *error) {
		if errors.Is(*err, provider.ErrNoAnswer) {
			left.Store(&provider.OpenAsk{AskID: req.AskID, Payload: req.Payload})
		}
	})
	m.asks.after(func(req provider.FetchAsksRequest, res *provider.FetchAsksResult, err *error) {
		if open := left.Load(); open != nil && req.Wait == 0 && *err == nil {
			res.Asks = append(res.Asks, *open)
		}
	})
}

func asksAtOnce(m *mutant) {
	m.ask.after(func(req provider.AskRequest, _ *provider.AskResult, err *error) {
		if req.Wait <= 0 && errors.Is(*err, provider.ErrInvalid) {
			*err = provider.ErrNoAnswer
		}
	})
}

func fetchesAtOnce(req *provider.FetchAsksRequest) {
	if len(req.Capabilities) > 0 {
		req.Wait = 0
	}
}
