package validations

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

func brokenCommit() []brokenRule {
	return []brokenRule{
		{name: "a commit with a task forgets its values", caught: "commit/all-of-it", breaks: commits(forgetsValues)},
		{name: "a commit consumes all that was fetched", caught: "commit/consumes-what-it-names", breaks: consumesTheBatch},
		{name: "an empty custom status keeps the old one", caught: "commit/custom-status", breaks: commits(keepsCustomStatus)},
		{name: "a deleted value is stored as an empty one", caught: "commit/values", breaks: commits(emptiesValues)},
		{name: "attributes replace all others", caught: "commit/attributes", breaks: showsLastAttributes},
		{name: "the engine level falls", caught: "commit/engine-level", breaks: lowersLevel},
		{name: "the completion of an unknown task is ignored", caught: "commit/lost-completion", breaks: completesNothing},
		{name: "a completion within a commit reaches the inbox", caught: "commit/completion", breaks: tellsCompletions},
		{name: "a commit that consumes nothing keeps the lease", caught: "commit/ends-the-lease", breaks: commits(keepsLease)},
		{name: "a commit ends the lease of another", caught: "commit/keeps-another-lease", breaks: endsAnyLease},
		{name: "a commit returns no ready time for waiting messages", caught: "commit/ready-at-message", breaks: committed(hidesWaiting)},
		{name: "a commit returns no ready time for timers", caught: "commit/ready-at-timer", breaks: committed(hidesTimer)},
		{name: "a commit returns a ready time for an empty inbox", caught: "commit/ready-never", breaks: committed(inventsWaiting)},
		{name: "a timer is visible too late", caught: "commit/timer", breaks: commits(delaysTimers)},
		{name: "a timer that is cancelled rings", caught: "commit/cancel-timer", breaks: commits(cancelsNothing)},
		{name: "a timer cannot be both consumed and cancelled", caught: "commit/cancel-consumed-timer", breaks: cancelsOnce},
		{name: "a commit fails those that are stored with it", caught: "commit/groups-are-invisible", racing: true, breaks: failsTheGroup},
		{name: "a small payload ends at a NUL", caught: "commit/payload-bytes", breaks: cutsAtNUL},
	}
}

// commits changes the requests of CommitTurn.
func commits(change func(*provider.CommitTurnRequest)) func(*mutant) {
	return func(m *mutant) { m.commit.before(change) }
}

// committed changes the results of CommitTurn.
func committed(change func(provider.CommitTurnRequest, *provider.CommitTurnResult)) func(*mutant) {
	return func(m *mutant) {
		m.commit.after(func(req provider.CommitTurnRequest, res *provider.CommitTurnResult, err *error) {
			if *err == nil {
				change(req, res)
			}
		})
	}
}

func forgetsValues(req *provider.CommitTurnRequest) {
	if len(req.Tasks) == 1 {
		req.Values = nil
	}
}

func consumesTheBatch(m *mutant) {
	var batches sync.Map
	fetched(func(_ provider.FetchTurnsRequest, turn *provider.Turn) {
		var ids []int64
		for _, message := range turn.Messages {
			ids = append(ids, message.ID)
		}
		batches.Store(turn.Instance.Key, ids)
	})(m)
	commits(func(req *provider.CommitTurnRequest) {
		batch, _ := batches.Load(req.Key)
		if ids, _ := batch.([]int64); slices.Contains(ids, slices.Max(append(req.Consumed, 0))) {
			req.Consumed = ids
		}
	})(m)
}

func keepsCustomStatus(req *provider.CommitTurnRequest) {
	if len(req.CustomStatus) == 0 {
		req.CustomStatus = nil
	}
}

func emptiesValues(req *provider.CommitTurnRequest) {
	req.Values = slices.Clone(req.Values)
	for n := range req.Values {
		if req.Values[n].Value == nil {
			req.Values[n].Value = []byte{}
		}
	}
}

func showsLastAttributes(m *mutant) {
	var last sync.Map
	committed(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult) {
		if len(req.Attributes) > 0 {
			last.Store(req.Key, req.Attributes)
		}
	})(m)
	gets(func(i *provider.Instance) {
		if list, ok := last.Load(i.Key); ok {
			i.Attributes, _ = list.([]provider.Attribute)
		}
	})(m)
}

func lowersLevel(m *mutant) {
	var last sync.Map
	committed(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult) {
		if req.EngineLevel > 0 {
			last.Store(req.Key, req.EngineLevel)
		}
	})(m)
	gets(func(i *provider.Instance) {
		if level, ok := last.Load(i.Key); ok {
			i.EngineLevel, _ = level.(int64)
		}
	})(m)
}

func completesNothing(m *mutant) {
	commits(func(req *provider.CommitTurnRequest) {
		res, _ := m.Provider.Get(context.Background(), provider.GetRequest{Key: req.Key, WithTasks: true})
		req.Completes = slices.DeleteFunc(slices.Clone(req.Completes), func(c provider.TaskCompletion) bool {
			return !slices.ContainsFunc(res.Tasks, func(task provider.TaskInfo) bool { return task.EventID == c.EventID })
		})
	})(m)
}

func tellsCompletions(m *mutant) {
	committed(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult) {
		for range req.Completes {
			_, _ = m.Provider.Send(context.Background(), provider.SendRequest{Key: req.Key})
		}
	})(m)
}

func keepsLease(req *provider.CommitTurnRequest) {
	if len(req.Consumed) == 0 {
		req.Lease = provider.UUID{}
	}
}

func endsAnyLease(m *mutant) {
	holder := m.holders()
	commits(func(req *provider.CommitTurnRequest) { req.Lease = holder(req.Key) })(m)
}

func hidesWaiting(_ provider.CommitTurnRequest, res *provider.CommitTurnResult) {
	if res.ReadyAt <= res.Now {
		res.ReadyAt = 0
	}
}

func hidesTimer(_ provider.CommitTurnRequest, res *provider.CommitTurnResult) {
	if res.ReadyAt > res.Now {
		res.ReadyAt = 0
	}
}

func inventsWaiting(req provider.CommitTurnRequest, res *provider.CommitTurnResult) {
	if res.ReadyAt == 0 && !req.Status.Ended() {
		res.ReadyAt = res.Now
	}
}

func delaysTimers(req *provider.CommitTurnRequest) {
	req.Timers = slices.Clone(req.Timers)
	for n := range req.Timers {
		if req.Timers[n].Due < 1<<59 {
			req.Timers[n].Due = req.Timers[n].Due.Add(time.Millisecond)
		}
	}
}

func cancelsNothing(req *provider.CommitTurnRequest) { req.CancelTimers = nil }

func cancelsOnce(m *mutant) {
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		for _, message := range m.inbox(ctx, req.Key) {
			if slices.Contains(req.Consumed, message.ID) && slices.Contains(req.CancelTimers, message.EventID) {
				return provider.CommitTurnResult{}, provider.ErrConflict
			}
		}
		return commit(ctx, req)
	})
}

// failsTheGroup stores commits of one instant together. One refused commit fails all.
func failsTheGroup(m *mutant) {
	var refused sync.Map // by the instant
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		window()
		group := time.Now()
		if i := m.stored(ctx, req.Key); !isGone(i) && i.Version != req.Expected && i.Version != req.Commit {
			refused.Store(group, true)
		}
		window()
		if _, bad := refused.Load(group); bad {
			return provider.CommitTurnResult{}, provider.ErrConflict
		}
		return commit(ctx, req)
	})
}

func cutsAtNUL(m *mutant) {
	m.send.before(func(req *provider.SendRequest) {
		if head, _, _ := bytes.Cut(req.Message.Payload, []byte{0}); len(head) > 0 && len(req.Message.Payload) < 1<<10 {
			req.Message.Payload = head
		}
	})
}
