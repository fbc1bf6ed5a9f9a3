package validations

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenSilence() []brokenRule {
	return []brokenRule{
		{name: "an empty event of an act is none", caught: "settled/nil-and-empty", wide: true, breaks: steers(dropsEmptyEvent)},
		{name: "an empty key-value is deleted", caught: "settled/nil-and-empty", wide: true, breaks: commits(deletesEmpty)},
		{name: "an act on a missing instance finds it ended", caught: "settled/steer-of-the-missing", wide: true, breaks: endsTheMissing},
		{name: "a commit keeps the delay of a release", caught: "settled/commit-ends-a-delay", wide: true, breaks: keepsDelays(false)},
		{name: "an unblock keeps the delay of a release", caught: "settled/unblock-ends-a-delay", wide: true, breaks: keepsDelays(true)},
		{name: "the release of a token has no delay", caught: "settled/release-of-a-token-with-delay", wide: true, breaks: releasesTokensAtOnce},
		{name: "the release of a token that holds nothing fails", caught: "settled/release-of-a-token-with-delay", wide: true, breaks: missesTokens},
		{name: "a termination tells the children of its execution only", caught: "settled/children-of-an-earlier-execution", wide: true, breaks: tellsYoung},
		{name: "the renewal of a parked task has a lease", caught: "settled/renewed-while-parked", wide: true, breaks: leasesParked},
		{name: "a tree of more instances than Max stays", caught: "settled/prune-counts-trees", wide: true, breaks: prunesSmallTrees},
		{name: "the figures count turns that Blocked holds back", caught: "settled/stats-of-what-is-held", wide: true, breaks: figures(countsBlocked)},
		{name: "the figures count tasks that are leased", caught: "settled/stats-of-held-tasks", wide: true, breaks: figures(countsLeased)},
		{name: "the oldest turn of the figures is the youngest", caught: "settled/stats-oldest-turn", wide: true, breaks: figures(datesTurns)},
		{name: "the oldest task of the figures has its rank", caught: "settled/stats-oldest-task", wide: true, breaks: figures(datesTasks)},
		{name: "the timers of a commit come by their moments", caught: "settled/timers-of-one-commit", wide: true, breaks: commits(sortsTimers)},
		{name: "a redriven message loses its execution", caught: "settled/redriven-message-keeps", wide: true, breaks: losesRedriven(func(m *provider.Message) {
			m.Execution = 0
		})},
		{name: "a redriven timer is a message", caught: "settled/redriven-message-keeps", wide: true, breaks: losesRedriven(func(m *provider.Message) {
			m.Timer = false
		})},
		{name: "the numbers of letters begin again", caught: "settled/numbers-of-letters", wide: true, breaks: renumbersLetters},
		{name: "the numbers of messages begin again in an empty inbox", caught: "settled/numbers-of-messages", wide: true, breaks: renumbersMessages},
		{name: "a carried message comes before a timer of its moment", caught: "settled/timer-before-a-carried-message", wide: true, breaks: putsTimersBehind},
		{name: "a reset moves no child of an earlier execution", caught: "settled/link-of-an-earlier-execution", wide: true, breaks: movesYoung},
	}
}

func dropsEmptyEvent(req *provider.SteerRequest) {
	if len(req.Event) == 0 {
		req.Event = nil
	}
}

func deletesEmpty(req *provider.CommitTurnRequest) {
	req.Values = slices.Clone(req.Values)
	for n := range req.Values {
		if len(req.Values[n].Value) == 0 {
			req.Values[n].Value = nil
		}
	}
}

func endsTheMissing(m *mutant) {
	m.steer.after(func(_ provider.SteerRequest, _ *provider.SteerResult, err *error) {
		if errors.Is(*err, provider.ErrNotFound) {
			*err = provider.ErrEnded
		}
	})
}

// keepsDelays hides an instance that was released with a delay. Only a commit ends that, or only an unblock.
func keepsDelays(endsByCommit bool) func(*mutant) {
	return func(m *mutant) {
		var held sync.Map // by key
		m.release.after(func(req provider.ReleaseTurnsRequest, _ *provider.ReleaseTurnsResult, _ *error) {
			for _, item := range req.Items {
				if item.Delay == long {
					held.Store(item.Key, true)
				}
			}
		})
		m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, _ *error) {
			if endsByCommit {
				held.Delete(req.Key)
			}
		})
		m.steer.after(func(req provider.SteerRequest, _ *provider.SteerResult, _ *error) {
			if !endsByCommit {
				held.Delete(req.Key)
			}
		})
		m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
			res.Turns = slices.DeleteFunc(res.Turns, func(u provider.Turn) bool {
				_, is := held.Load(u.Instance.Key)
				return is
			})
		})
	}
}

func releasesTokensAtOnce(m *mutant) {
	m.release.before(func(req *provider.ReleaseTurnsRequest) {
		req.Items = slices.Clone(req.Items)
		for n := range req.Items {
			if req.Items[n].Kind == provider.ReleaseToken {
				req.Items[n].Delay = 0
			}
		}
	})
}

func missesTokens(m *mutant) {
	var used sync.Map
	m.turns.after(func(req provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		if len(res.Turns) > 0 {
			used.Store(req.Token, true)
		}
	})
	m.release.after(func(req provider.ReleaseTurnsRequest, res *provider.ReleaseTurnsResult, _ *error) {
		for n, item := range req.Items {
			if _, is := used.LoadAndDelete(item.Token); !is && item.Kind == provider.ReleaseToken {
				res.Errs[n] = provider.ErrLeaseLost
			}
		}
	})
}

func tellsYoung(m *mutant) {
	tellsChosen(func(child provider.Instance) bool {
		return child.Parent.Execution == m.stored(context.Background(), child.Parent.Key).Execution
	}, false)(m)
}

func leasesParked(m *mutant) {
	m.renew.after(func(req provider.RenewTasksRequest, res *provider.RenewTasksResult, _ *error) {
		for n := range res.Items {
			if item := &res.Items[n]; item.Err == nil && item.State.Kind == provider.ExecutionRunning && item.LeaseUntil == 0 {
				item.LeaseUntil = res.Now.Add(req.Lease)
			}
		}
	})
}

func prunesSmallTrees(m *mutant) {
	m.prune.around(func(ctx context.Context, req provider.PruneRequest, prune method[provider.PruneRequest, provider.PruneResult]) (provider.PruneResult, error) {
		look := req
		look.Look = true
		found, err := prune(ctx, look)
		for _, tree := range found.Trees {
			if req.Max > 0 && tree.Instances > int64(req.Max) {
				return provider.PruneResult{}, err
			}
		}
		return prune(ctx, req)
	})
}

func countsBlocked(res *provider.StatsResult) {
	if len(res.Turns) > 0 {
		res.Turns[0].Count += res.Blocked
	}
}

func countsLeased(res *provider.StatsResult) {
	if len(res.Tasks) > 0 {
		res.Tasks[0].Count += res.TaskLeases
	}
}

func datesTurns(res *provider.StatsResult) {
	for n := range res.Turns {
		if res.Turns[n].Count > 1 {
			res.Turns[n].Oldest = res.Turns[n].Oldest.Add(short)
		}
	}
}

func datesTasks(res *provider.StatsResult) {
	for n := range res.Tasks {
		res.Tasks[n].Oldest = res.Tasks[n].Oldest.Add(2 * provider.PriorityStep)
	}
}

func sortsTimers(req *provider.CommitTurnRequest) {
	req.Timers = slices.SortedStableFunc(slices.Values(req.Timers), func(a, b provider.Timer) int { return cmp.Compare(a.Due, b.Due) })
}

// losesRedriven changes the messages that a redrive has put back.
func losesRedriven(change func(*provider.Message)) func(*mutant) {
	return func(m *mutant) {
		var redriven sync.Map // by payload
		m.letters.around(func(ctx context.Context, req provider.DeadLettersRequest, letters method[provider.DeadLettersRequest, provider.DeadLettersResult]) (provider.DeadLettersResult, error) {
			before, _ := m.Provider.DeadLetters(ctx, provider.DeadLettersRequest{})
			for _, l := range before.Letters {
				if req.Action == provider.DeadLettersRedrive && slices.Contains(req.IDs, l.ID) {
					redriven.Store(string(l.Payload), true)
				}
			}
			return letters(ctx, req)
		})
		m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
			for _, u := range res.Turns {
				for n := range u.Messages {
					if _, is := redriven.Load(string(u.Messages[n].Payload)); is {
						change(&u.Messages[n])
					}
				}
			}
		})
	}
}

// renumbersLetters gives the dead letters that are left the numbers from 1.
func renumbersLetters(m *mutant) {
	m.letters.around(func(ctx context.Context, req provider.DeadLettersRequest, letters method[provider.DeadLettersRequest, provider.DeadLettersResult]) (provider.DeadLettersResult, error) {
		all, _ := m.Provider.DeadLetters(ctx, provider.DeadLettersRequest{})
		stored := func(number int64) int64 {
			if number < 1 || number > int64(len(all.Letters)) {
				return number
			}
			return all.Letters[number-1].ID
		}
		req.Cursor = stored(req.Cursor)
		ids := make([]int64, len(req.IDs))
		for n := range req.IDs {
			ids[n] = stored(req.IDs[n])
		}
		req.IDs = ids
		res, err := letters(ctx, req)
		for n := range res.Letters {
			at := slices.IndexFunc(all.Letters, func(l provider.DeadLetter) bool { return l.ID == res.Letters[n].ID })
			res.Letters[n].ID = int64(at) + 1
		}
		return res, err
	})
}

func renumbersMessages(m *mutant) {
	m.send.after(func(_ provider.SendRequest, res *provider.SendResult, err *error) {
		if *err == nil && len(m.inbox(context.Background(), res.Key)) == 1 {
			res.MessageID = 1
		}
	})
}

func putsTimersBehind(m *mutant) {
	m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		rank := func(m provider.Message) int {
			if m.Timer {
				return 1
			}
			return 0
		}
		for _, u := range res.Turns {
			slices.SortStableFunc(u.Messages, func(a, b provider.Message) int {
				return cmp.Or(cmp.Compare(a.VisibleAt, b.VisibleAt), rank(a)-rank(b))
			})
		}
	})
}

func movesYoung(m *mutant) {
	m.resets.around(func(ctx context.Context, req provider.ResetRequest, reset method[provider.ResetRequest, provider.SteerResult]) (provider.SteerResult, error) {
		for _, link := range req.Children {
			child := m.stored(ctx, link.Key)
			if child.Parent.Execution != m.stored(ctx, req.Key).Execution {
				return provider.SteerResult{}, provider.ErrConflict
			}
		}
		return reset(ctx, req)
	})
}
