package validations

import (
	"context"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenSettledLater() []brokenRule {
	return []brokenRule{
		{name: "an expired lease that no commit named holds its instance back", caught: "settled/order-after-an-expired-lease", wide: true, breaks: putsShortLeasesLast},
		{name: "a reset forgets the moment of a timer", caught: "settled/reset-of-a-ready-instance", wide: true, breaks: forgetsTimers},
		{name: "a task without a delay has no NotBefore", caught: "settled/not-before", wide: true, breaks: showsNoMoment},
		{name: "a release by token stores no details", caught: "settled/release-all-with-details", wide: true, breaks: reports(releasesWithoutDetails)},
		{name: "the notices of a termination come last", caught: "settled/order-of-a-termination", wide: true, breaks: noticesLast},
		{name: "a hand-off has begun for good", caught: "settled/released-hand-off", wide: true, breaks: beginsHandOffs},
		{name: "a parked task can be released", caught: "settled/parked-task-and-its-token", wide: true, breaks: releasesParked},
		{name: "a terminated instance gives no reason", caught: "settled/reason-of-a-letter", wide: true, breaks: givesNoReason},
		{name: "the deletion of a successor brings the replaced instance back", caught: "settled/replaced-for-good", wide: true, breaks: bringsBack},
		{name: "the timers of a commit end no lease", caught: "settled/lease-overtaken-within-a-commit", wide: true, breaks: releasesOvertaken},
		{name: "a refusal ends no claim ahead of its own commit", caught: "settled/lease-overtaken-by-a-refusal", breaks: hidesRefused},
		{name: "the message of Next ends what removed timers made", caught: "settled/lease-outlives-timers", wide: true, breaks: losesLeaseByNext},
		{name: "a reset looks at the Version first", caught: "settled/replaced-before-expected", wide: true, breaks: looksAtVersionFirst},
		{name: "a redriven message waits again", caught: "settled/redriven-message", wide: true, breaks: delaysAgain},
		{name: "an operator's retry gives up the attempt of an expired lease", caught: "settled/steered-expired-lease", wide: true, breaks: givesUpExpired},
		{name: "a task without a key sets the turn of a newcomer", caught: "tasks/fairness-without-keyless", breaks: reordered(inOrder("b1 a3"))},
	}
}

func putsShortLeasesLast(m *mutant) {
	var held sync.Map
	m.turns.after(func(req provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		rank := func(turn provider.Turn) int {
			if _, late := held.Load(turn.Instance.Key); late {
				return 1
			}
			return 0
		}
		slices.SortStableFunc(res.Turns, func(a, b provider.Turn) int { return rank(a) - rank(b) })
		for _, turn := range res.Turns {
			if req.Lease == short {
				held.Store(turn.Instance.Key, true)
			}
		}
	})
}

func forgetsTimers(m *mutant) {
	m.steer.after(func(req provider.SteerRequest, res *provider.SteerResult, _ *error) {
		if req.Action != provider.SteerReset {
			return
		}
		at := res.Instance.UpdatedAt
		for _, message := range m.inbox(context.Background(), req.Key) {
			at = min(at, message.VisibleAt)
		}
		res.Instance.ReadyAt = at
	})
}

func showsNoMoment(m *mutant) {
	m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) {
		for n := range res.Tasks {
			if res.Tasks[n].NotBefore == res.Tasks[n].ScheduledAt {
				res.Tasks[n].NotBefore = 0
			}
		}
	})
}

func releasesWithoutDetails(item *provider.TaskReport) {
	if item.Outcome == provider.TaskReleaseAll {
		item.Details = nil
	}
}

func noticesLast(m *mutant) {
	m.steer.around(func(ctx context.Context, req provider.SteerRequest, steer steerMethod) (provider.SteerResult, error) {
		list := req.Notices
		req.Notices = nil
		res, err := steer(ctx, req)
		for _, n := range list {
			_, _ = m.Provider.Send(ctx, provider.SendRequest{ID: n.ID, Key: n.Key, Message: n.Message})
		}
		return res, err
	})
}

func beginsHandOffs(m *mutant) {
	token := m.handOffs()
	reports(func(item *provider.TaskReport) {
		if item.Outcome == provider.TaskRelease && !token(item.TaskRef).IsZero() {
			item.Begun = true
		}
	})(m)
}

func releasesParked(m *mutant) {
	var parked sync.Map
	m.report.after(func(req provider.ReportTasksRequest, res *provider.ReportTasksResult, _ *error) {
		for n, item := range req.Items {
			if _, ok := parked.Load(item.TaskRef); ok && item.Outcome == provider.TaskRelease {
				res.Items[n].Err = nil
			}
			if item.Outcome == provider.TaskPark {
				parked.Store(item.TaskRef, true)
			}
		}
	})
}

func givesNoReason(m *mutant) {
	m.letters.after(func(_ provider.DeadLettersRequest, res *provider.DeadLettersResult, _ *error) {
		for n := range res.Letters {
			if m.stored(context.Background(), res.Letters[n].Key).Status == provider.StatusTerminated {
				res.Letters[n].Reason = ""
			}
		}
	})
}

// bringsBack lists a replaced instance if its ID is free.
func bringsBack(m *mutant) {
	m.list.after(func(req provider.ListRequest, res *provider.ListResult, _ *error) {
		all := req
		all.Filter.Replaced = true
		list, _ := m.Provider.List(context.Background(), all)
		for _, i := range list.Instances {
			if _, err := m.Provider.Get(context.Background(), provider.GetRequest{ID: i.ID}); err != nil {
				res.Instances = append(res.Instances, i)
			}
		}
	})
}

func releasesOvertaken(m *mutant) {
	holder := m.holders()
	m.release.after(func(req provider.ReleaseTurnsRequest, res *provider.ReleaseTurnsResult, _ *error) {
		for n, item := range req.Items {
			if item.Kind == provider.ReleaseClean && holder(item.Key) == item.Token {
				res.Errs[n] = nil
			}
		}
	})
}

func looksAtVersionFirst(m *mutant) {
	m.steer.around(func(ctx context.Context, req provider.SteerRequest, steer steerMethod) (provider.SteerResult, error) {
		if !req.Expected.IsZero() && m.stored(ctx, req.Key).Version != req.Expected {
			return provider.SteerResult{}, provider.ErrConflict
		}
		return steer(ctx, req)
	})
}

// delaysAgain sends a message that was delayed once more in place of a redrive.
func delaysAgain(m *mutant) {
	var delays sync.Map // requests by payload
	m.send.before(func(req *provider.SendRequest) {
		if req.Message.Delay > 0 {
			delays.Store(string(req.Message.Payload), *req)
		}
	})
	m.letters.around(func(ctx context.Context, req provider.DeadLettersRequest, letters method[provider.DeadLettersRequest, provider.DeadLettersResult]) (provider.DeadLettersResult, error) {
		list, _ := m.Provider.DeadLetters(ctx, provider.DeadLettersRequest{})
		res, err := letters(ctx, req)
		for _, l := range list.Letters {
			sent, _ := delays.Load(string(l.Payload))
			again, ok := sent.(provider.SendRequest)
			if !ok || req.Action != provider.DeadLettersRedrive || !slices.Contains(req.IDs, l.ID) {
				continue
			}
			for _, message := range m.inbox(ctx, l.Key) {
				if message.VisibleAt <= l.At.Add(long) {
					commit := next(m.stored(ctx, l.Key))
					commit.Consumed = []int64{message.ID}
					_, _ = m.Provider.CommitTurn(ctx, commit)
				}
			}
			_, _ = m.Provider.Send(ctx, again)
		}
		return res, err
	})
}

func givesUpExpired(m *mutant) {
	m.acts.around(func(ctx context.Context, req provider.SteerTaskRequest, act actMethod) (provider.SteerTaskResult, error) {
		before, _ := m.Provider.Get(ctx, provider.GetRequest{Key: req.Key, WithTasks: true})
		res, err := act(ctx, req)
		for _, task := range before.Tasks {
			if task.TaskRef == req.TaskRef && task.State == provider.TaskQueued && task.Deliveries > 0 {
				res.Attempt++
			}
		}
		return res, err
	})
}

// unnamed reports whether a commit sets timers without naming a lease.
func unnamed(req provider.CommitTurnRequest) bool {
	return req.Lease.IsZero() && len(req.Consumed) > 0 && len(req.Timers) > 0
}

// hidesRefused holds the lease back that the refusal of a send has ended.
func hidesRefused(m *mutant) {
	var held sync.Map // by key
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, _ *error) {
		if unnamed(req) && len(req.Sends) > 0 {
			held.Store(req.Key, true)
		}
	})
	m.turns.after(func(_ provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		res.Turns = slices.DeleteFunc(res.Turns, func(u provider.Turn) bool {
			_, is := held.Load(u.Instance.Key)
			return is
		})
	})
}

// losesLeaseByNext ends the lease that the timers of a continued execution have made a claim ahead.
func losesLeaseByNext(m *mutant) {
	holder := m.holders()
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
		if *err == nil && unnamed(req) && req.Next != nil {
			item := provider.TurnRelease{Key: req.Key, Token: holder(req.Key)}
			_, _ = m.Provider.ReleaseTurns(context.Background(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}})
		}
	})
}
