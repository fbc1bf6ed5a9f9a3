package validations

import (
	"context"
	"slices"

	"github.com/perdure/perdure/provider"
)

func brokenOpening() []brokenRule {
	return []brokenRule{
		{name: "a reset loses the tasks of its prefix", caught: "opener/reset", breaks: resets(losesTasks)},
		{name: "a reset does not append its event", caught: "opener/reset-ends-the-old", breaks: resets(losesEvent)},
		{name: "a reset to a prefix ignores the expected version", caught: "opener/reset-refused", breaks: resetsAnything},
		{name: "a repeated reset is compared again", caught: "opener/reset-again", breaks: resetsAgain},
		{name: "a reset forgets its request", caught: "opener/reset-once", breaks: resets(losesRequest)},
		{name: "a reset keeps the orchestration", caught: "opener/reset-as-another", breaks: resetsAsBefore},
		{name: "a reset to a prefix keeps the engine level", caught: "opener/reset-level", breaks: resetsAtLevel},
		{name: "a reset moves one child", caught: "opener/children", breaks: resets(movesOneChild)},
		{name: "a reset leaves the messages of children", caught: "opener/child-has-ended", breaks: movesRunning},
		{name: "a reset ignores a child that is gone", caught: "opener/no-such-child", breaks: movesRunning},
		{name: "a reset moves all children", caught: "opener/other-children", breaks: movesAll},
		{name: "a reset sends no notices", caught: "opener/notices", breaks: resets(sendsNoNotices)},
		{name: "a fork has no timers", caught: "opener/fork", breaks: forks(losesTimers)},
		{name: "a fork replaces unasked", caught: "opener/fork-refused", breaks: forks(replacesUnasked)},
		{name: "a fork waits for a message", caught: "opener/fork-is-ready", breaks: forkWaits},
	}
}

func brokenPrefixes() []brokenRule {
	return []brokenRule{
		{name: "a prefix may be too long", caught: "opener/prefix-limits", breaks: prefixes(cutsEvents)},
		{name: "a prefix may be empty", caught: "opener/prefix-invalid", breaks: prefixes(addsEvent)},
		{name: "a task of a prefix has no delay", caught: "opener/prefix-tasks", breaks: prefixes(losesDelay)},
		{name: "a prefix keeps attributes", caught: "opener/prefix-describes", breaks: mergesAttributes},
		{name: "a prefix removes no values", caught: "opener/prefix-values", breaks: prefixes(removesNoValues)},
		{name: "carried messages come in reverse", caught: "opener/prefix-messages-come-first", breaks: prefixes(reversesMessages)},
		{name: "carried messages are visible since now", caught: "opener/prefix-messages-and-timers", breaks: prefixes(carriesNow)},
		{name: "carried messages do not fit a full inbox", caught: "opener/prefix-messages-in-a-full-inbox", breaks: carriesWithinLimits},
		{name: "a prefix has seen nothing", caught: "opener/prefix-forgets", breaks: prefixes(seesNothing)},
	}
}

// resets changes the requests of Reset.
func resets(change func(*provider.ResetRequest)) func(*mutant) {
	return func(m *mutant) { m.resets.before(change) }
}

// forks changes the requests of Fork.
func forks(change func(*provider.ForkRequest)) func(*mutant) {
	return func(m *mutant) { m.forks.before(change) }
}

// prefixes changes the prefixes of both.
func prefixes(change func(*provider.Prefix)) func(*mutant) {
	return func(m *mutant) {
		m.resets.before(func(req *provider.ResetRequest) { change(&req.Prefix) })
		m.forks.before(func(req *provider.ForkRequest) { change(&req.Prefix) })
	}
}

func losesTasks(req *provider.ResetRequest) { req.Prefix.Tasks = nil }

func losesEvent(req *provider.ResetRequest) { req.Event = nil }

func resetsAnything(m *mutant) {
	m.resets.before(func(req *provider.ResetRequest) {
		if i := m.stored(context.Background(), req.Key); i.Version != req.Commit && !i.Version.IsZero() {
			req.Expected = i.Version
		}
	})
}

func resetsAgain(m *mutant) {
	m.resets.before(func(req *provider.ResetRequest) {
		if i := m.stored(context.Background(), req.Key); i.Version == req.Commit {
			req.Commit = unique()
		}
	})
}

func losesRequest(req *provider.ResetRequest) { req.RequestID = "" }

func resetsAsBefore(m *mutant) {
	m.resets.before(func(req *provider.ResetRequest) {
		i := m.stored(context.Background(), req.Key)
		req.Name, req.CodeVersion = i.Name, i.CodeVersion
	})
}

func resetsAtLevel(m *mutant) {
	m.resets.before(func(req *provider.ResetRequest) {
		req.EngineLevel = max(req.EngineLevel, m.stored(context.Background(), req.Key).EngineLevel)
	})
}

func movesOneChild(req *provider.ResetRequest) {
	req.Children = req.Children[:min(len(req.Children), 1)]
}

// movesRunning leaves out what is no running child.
func movesRunning(m *mutant) {
	m.resets.before(func(req *provider.ResetRequest) {
		req.Children = slices.DeleteFunc(slices.Clone(req.Children), func(link provider.ChildLink) bool {
			i := m.stored(context.Background(), link.Key)
			return i.Status.Ended() || i.Parent.Key != req.Key || i.Parent.EventID != link.EventID
		})
	})
}

func movesAll(m *mutant) {
	m.resets.before(func(req *provider.ResetRequest) {
		res, _ := m.Provider.List(context.Background(), provider.ListRequest{Filter: provider.Filter{ParentKey: req.Key}})
		req.Children = nil
		for _, i := range res.Instances {
			req.Children = append(req.Children, linkOf(i))
		}
	})
}

func sendsNoNotices(req *provider.ResetRequest) { req.Notices = nil }

func losesTimers(req *provider.ForkRequest) { req.Prefix.Timers = nil }

func replacesUnasked(req *provider.ForkRequest) { req.Create.Policy = provider.IDReplaceEnded }

// forkWaits makes a commit of its own, after which only a message makes the instance ready.
func forkWaits(m *mutant) {
	m.forks.after(func(req provider.ForkRequest, _ *provider.CreateResult, _ *error) {
		ctx := context.Background()
		_, _ = m.Provider.CommitTurn(ctx, next(m.stored(ctx, req.Create.Key)))
	})
}

func cutsEvents(p *provider.Prefix) { p.Events = p.Events[:min(len(p.Events), provider.MaxCommitRows)] }

func addsEvent(p *provider.Prefix) {
	if len(p.Events) == 0 {
		p.Events = [][]byte{[]byte("started")}
	}
}

func losesDelay(p *provider.Prefix) {
	for n := range p.Tasks {
		p.Tasks[n].NotBefore = 0
	}
}

func mergesAttributes(m *mutant) {
	m.resets.before(func(req *provider.ResetRequest) {
		req.Prefix.Attributes = append(m.stored(context.Background(), req.Key).Attributes, req.Prefix.Attributes...)
	})
}

func removesNoValues(p *provider.Prefix) {
	p.Values = slices.DeleteFunc(p.Values, func(v provider.KeyValue) bool { return v.Value == nil })
}

func reversesMessages(p *provider.Prefix) {
	p.Messages = slices.Clone(p.Messages)
	slices.Reverse(p.Messages)
	slices.SortStableFunc(p.Messages, func(a, b provider.CarriedMessage) int { return int(min(max(a.At-b.At, -1), 1)) })
}

func carriesNow(p *provider.Prefix) {
	for n := range p.Messages {
		p.Messages[n].At = provider.HeldUntil
	}
}

func carriesWithinLimits(m *mutant) {
	m.resets.around(func(ctx context.Context, req provider.ResetRequest, inner method[provider.ResetRequest, provider.SteerResult]) (provider.SteerResult, error) {
		if int(m.stored(ctx, req.Key).InboxMessages)+len(req.Prefix.Messages) > provider.MaxInboxMessages {
			return provider.SteerResult{}, provider.ErrInboxFull
		}
		return inner(ctx, req)
	})
}

func seesNothing(p *provider.Prefix) { p.Seen = nil }
