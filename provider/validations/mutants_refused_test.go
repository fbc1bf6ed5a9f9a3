package validations

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// brokenRefusals lists stores that keep part of what they refuse, or refuse too little.
func brokenRefusals() []brokenRule {
	return []brokenRule{
		{name: "a refused start with messages counts as delivered", caught: "classes/refused-messages", wide: true, breaks: remembersRefusedStart},
		{name: "a child of nobody is created", caught: "classes/refused-parent", wide: true, breaks: createsUnderNobody},
		{name: "a start with a used key is dropped", caught: "classes/refused-start", wide: true, breaks: dropsStartOfUsedKey},
		{name: "a repeated start of a child is refused", caught: "classes/refused-start", wide: true, breaks: refusesRepeatedStart},
		{name: "a suspended instance is replaced", caught: "classes/refused-replacement", wide: true, breaks: replacesSuspended},
		{name: "a refused act counts as done", caught: "classes/refused-steer", wide: true, breaks: remembersRefusedAct},
		{name: "a termination tells no suspended parent", caught: "steer/terminate-tells-a-held-parent", wide: true, breaks: tellsRunningParent},
		{name: "a delayed message raises no level", caught: "deliver/level-of-delayed", wide: true, breaks: sendsDelayedWithoutLevel},
		{name: "a completion from outside raises no level", caught: "steer-task/complete-raises-the-level", wide: true, breaks: completesWithoutLevel},
		{name: "a question takes an ID that is in use", caught: "ask/id-in-use", wide: true, breaks: asksUnderAnotherID},
		{name: "Close leaves questions waiting", caught: "ask/close-ends-questions", wide: true, breaks: asksAfterClose},
		{name: "a call that Close meets fails", caught: "classes/close-waits", wide: true, breaks: failsAtClose},
	}
}

func remembersRefusedStart(m *mutant) {
	refused := map[string]bool{}
	m.create.around(func(ctx context.Context, req provider.CreateRequest, create createMethod) (provider.CreateResult, error) {
		if req.RequestID != "" && refused[req.ID+req.RequestID] {
			req.Messages = nil
		}
		res, err := create(ctx, req)
		if errors.Is(err, provider.ErrEnded) {
			refused[req.ID+req.RequestID] = true
		}
		return res, err
	})
}

func createsUnderNobody(m *mutant) {
	m.create.around(func(ctx context.Context, req provider.CreateRequest, create createMethod) (provider.CreateResult, error) {
		res, err := create(ctx, req)
		if errors.Is(err, provider.ErrNotFound) {
			req.Parent = provider.Parent{}
			return create(ctx, req)
		}
		return res, err
	})
}

// startsExcept removes starts from the commits.
func startsExcept(m *mutant, drops func(ctx context.Context, s provider.Start) bool, refuses bool) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		var kept []provider.Start
		for _, s := range req.Starts {
			if !drops(ctx, s) {
				kept = append(kept, s)
			} else if refuses {
				req.Sends = append(req.Sends, provider.OutMessage{Key: req.Key, Message: s.Refused})
			}
		}
		req.Starts = kept
		return commit(ctx, req)
	})
}

func dropsStartOfUsedKey(m *mutant) {
	startsExcept(m, func(ctx context.Context, s provider.Start) bool { return !m.stored(ctx, s.Create.Key).Key.IsZero() }, false)
}

func refusesRepeatedStart(m *mutant) {
	startsExcept(m, func(ctx context.Context, s provider.Start) bool {
		res, err := m.Provider.Get(ctx, provider.GetRequest{ID: s.Create.ID})
		return err == nil && s.Create.RequestID != "" && res.Instance.RequestID == s.Create.RequestID
	}, true)
}

func replacesSuspended(m *mutant) {
	m.create.before(func(req *provider.CreateRequest) {
		res, err := m.Provider.Get(context.Background(), provider.GetRequest{ID: req.ID})
		if err == nil && req.Policy == provider.IDReplaceEnded && res.Instance.Status == provider.StatusSuspended {
			_, _ = m.Provider.Steer(context.Background(), provider.SteerRequest{Key: res.Instance.Key, Action: provider.SteerTerminate, Commit: unique()})
		}
	})
}

func remembersRefusedAct(m *mutant) {
	refused := map[string]bool{}
	m.steer.around(func(ctx context.Context, req provider.SteerRequest, steer steerMethod) (provider.SteerResult, error) {
		act := req.Key.String() + req.RequestID
		if req.RequestID != "" && refused[act] {
			return provider.SteerResult{Instance: m.stored(ctx, req.Key)}, nil
		}
		res, err := steer(ctx, req)
		refused[act] = errors.Is(err, provider.ErrEnded)
		return res, err
	})
}

func tellsRunningParent(m *mutant) {
	m.steer.before(func(req *provider.SteerRequest) {
		parent := m.stored(context.Background(), req.Key).Parent.Key
		if m.stored(context.Background(), parent).Status == provider.StatusSuspended {
			req.ParentNotice = nil
		}
	})
}

func sendsDelayedWithoutLevel(m *mutant) {
	m.send.before(func(req *provider.SendRequest) {
		if req.Message.Delay > 0 {
			req.Message.EngineLevel = 0
		}
	})
}

func completesWithoutLevel(m *mutant) {
	m.acts.before(func(req *provider.SteerTaskRequest) { req.Message.EngineLevel = 0 })
}

func asksUnderAnotherID(m *mutant) {
	m.ask.around(func(
		ctx context.Context, req provider.AskRequest, ask method[provider.AskRequest, provider.AskResult],
	) (provider.AskResult, error) {
		res, err := ask(ctx, req)
		if errors.Is(err, provider.ErrExists) {
			req.AskID, req.Wait = askID(req.Key), short
			return ask(ctx, req)
		}
		return res, err
	})
}

func asksAfterClose(m *mutant) {
	m.ask.around(func(
		ctx context.Context, req provider.AskRequest, ask method[provider.AskRequest, provider.AskResult],
	) (provider.AskResult, error) {
		began := time.Now()
		res, err := ask(ctx, req)
		if errors.Is(err, provider.ErrClosed) {
			time.Sleep(req.Wait - time.Since(began)) //nolint:forbidigo // of a bubble's clock
			return res, provider.ErrNoAnswer
		}
		return res, err
	})
}

// failsAtClose fails the sends that began before Close and meet it.
func failsAtClose(m *mutant) {
	var mu sync.Mutex
	closed := false
	closing := m.close
	m.close = func() error {
		mu.Lock()
		closed = true
		mu.Unlock()
		window()
		window()
		return closing()
	}
	m.send.around(func(ctx context.Context, req provider.SendRequest, send sendMethod) (provider.SendResult, error) {
		mu.Lock()
		began := !closed
		mu.Unlock()
		m.dawdle(ctx)
		mu.Lock()
		defer mu.Unlock()
		if began && closed {
			return provider.SendResult{}, &provider.Error{Op: "send", Outcome: provider.OutcomeNothing, Retryable: true, Err: errors.New("not open")}
		}
		return send(ctx, req)
	})
}
