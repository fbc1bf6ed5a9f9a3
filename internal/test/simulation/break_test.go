package simulation

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// broken is a store with one of the classic bugs.
type broken struct {
	*provider.Full

	inner  provider.Provider
	create func(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error)
	send   func(ctx context.Context, req provider.SendRequest) (provider.SendResult, error)
	commit func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error)
	turns  func(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error)
	tasks  func(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error)
	report func(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error)

	mended atomic.Bool // works from now on

	mu    sync.Mutex
	calls int
	keys  map[provider.UUID]bool
	task  *provider.LeasedTask // that is given out twice
	owner string               // who has it
}

func newBroken(p provider.Provider) *broken {
	full := provider.FullOf(p)
	return &broken{
		Full: full, inner: p, create: full.Create, send: full.Send, commit: full.CommitTurn, turns: full.FetchTurns, tasks: full.FetchTasks,
		report: full.ReportTasks, keys: make(map[provider.UUID]bool),
	}
}

// Unwrap returns the store that works.
func (b *broken) Unwrap() provider.Provider { return b.inner }

// Create implements provider.Provider.
func (b *broken) Create(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
	if b.mended.Load() {
		return b.Full.Create(ctx, req)
	}
	return b.create(ctx, req)
}

// Send implements provider.Provider.
func (b *broken) Send(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
	if b.mended.Load() {
		return b.Full.Send(ctx, req)
	}
	return b.send(ctx, req)
}

// CommitTurn implements provider.Provider.
func (b *broken) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	if b.mended.Load() {
		return b.Full.CommitTurn(ctx, req)
	}
	return b.commit(ctx, req)
}

// FetchTurns implements provider.Provider.
func (b *broken) FetchTurns(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
	if b.mended.Load() {
		return b.Full.FetchTurns(ctx, req)
	}
	return b.turns(ctx, req)
}

// FetchTasks implements provider.Provider.
func (b *broken) FetchTasks(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
	if b.mended.Load() {
		return b.Full.FetchTasks(ctx, req)
	}
	return b.tasks(ctx, req)
}

// ReportTasks implements provider.Provider.
func (b *broken) ReportTasks(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
	if b.mended.Load() {
		return b.Full.ReportTasks(ctx, req)
	}
	return b.report(ctx, req)
}

// every reports whether this is an n-th call.
func (b *broken) every(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	return b.calls%n == 0
}

// first reports whether a key is new to the bug.
func (b *broken) first(key provider.UUID) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.keys[key]
	b.keys[key] = true
	return !known
}

// bugs are the ways in which stores are broken on purpose.
func bugs() map[string]func(provider.Provider) provider.Provider {
	with := func(edit func(b *broken)) func(provider.Provider) provider.Provider {
		return func(p provider.Provider) provider.Provider {
			b := newBroken(p)
			edit(b)
			return b
		}
	}
	return map[string]func(provider.Provider) provider.Provider{
		"a message wakes nobody":               with(loseWakes),
		"a commit of a stale turn":             with(commitStale),
		"a turn of a suspended instance":       with(commitSuspended),
		"a commit consumes an unseen message":  with(consumeUnseen),
		"not found in place of unknown":        with(denyUnknown),
		"a task for two nodes":                 with(leaseTwice),
		"a task after its end":                 with(deliverEnded),
		"a commit without its timer":           with(dropTimer),
		"a repeated start is another instance": with(startAgain),
		"half of a commit":                     with(commitHalf),
	}
}

// loseWakes forgets that an instance has a message, now and then.
func loseWakes(b *broken) {
	b.turns = func(ctx context.Context, req provider.FetchTurnsRequest) (provider.FetchTurnsResult, error) {
		res, err := b.Full.FetchTurns(ctx, req)
		kept := res.Turns[:0]
		for i := range res.Turns {
			turn := &res.Turns[i]
			if turn.Instance.HistoryLength > 0 && b.every(10) {
				_, _ = b.Full.ReleaseTurns(ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{
					{Key: turn.Instance.Key, Token: req.Token, Delay: 24 * time.Hour},
				}})
				continue
			}
			kept = append(kept, *turn)
		}
		res.Turns = kept
		return res, err
	}
}

// commitStale stores a turn although another one came first.
func commitStale(b *broken) {
	b.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		res, err := b.Full.CommitTurn(ctx, req)
		if !errors.Is(err, provider.ErrConflict) {
			return res, err
		}
		row, failed := b.Full.Get(ctx, provider.GetRequest{Key: req.Key})
		if failed != nil || row.Instance.Execution != req.Execution {
			return res, err
		}
		req.Expected, req.Length, req.Ahead, req.Consumed = row.Instance.Version, row.Instance.HistoryLength, false, nil
		if res, failed := b.Full.CommitTurn(ctx, req); failed == nil {
			return res, nil
		}
		return res, err
	}
}

// consumeUnseen removes a message that a turn has not seen.
func consumeUnseen(b *broken) {
	b.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		inspector, _ := provider.As[provider.Inspector](b.inner)
		rows, err := inspector.Inspect(ctx, provider.InspectRequest{Kind: provider.InspectMessages, Key: req.Key})
		for _, m := range rows.Messages {
			if err == nil && !m.Timer && !slices.Contains(req.Consumed, m.ID) {
				req.Consumed = append(slices.Clone(req.Consumed), m.ID)
				break
			}
		}
		return b.Full.CommitTurn(ctx, req)
	}
}

// commitSuspended stores turns of suspended instances.
func commitSuspended(b *broken) {
	b.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		res, err := b.Full.CommitTurn(ctx, req)
		if !errors.Is(err, provider.ErrConflict) {
			return res, err
		}
		row, failed := b.Full.Get(ctx, provider.GetRequest{Key: req.Key})
		if failed != nil || row.Instance.Status != provider.StatusSuspended || row.Instance.HistoryLength != req.Length {
			return res, err
		}
		act := provider.SteerRequest{Key: req.Key, Action: provider.SteerResume, Commit: provider.NewKey("a bug")}
		if _, failed := b.Full.Steer(ctx, act); failed != nil {
			return res, err
		}
		req.Expected, req.Ahead = act.Commit, false
		res, err = b.Full.CommitTurn(ctx, req)
		act.Action, act.Commit = provider.SteerSuspend, provider.NewKey("a bug")
		_, _ = b.Full.Steer(ctx, act)
		return res, err
	}
}

// denyUnknown says that there is no such instance when it should say that it does not know.
func denyUnknown(b *broken) {
	b.send = func(ctx context.Context, req provider.SendRequest) (provider.SendResult, error) {
		if b.every(10) {
			return provider.SendResult{}, provider.ErrNotFound
		}
		return b.Full.Send(ctx, req)
	}
}

// leaseTwice gives a task to a second node.
func leaseTwice(b *broken) {
	b.tasks = func(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
		res, err := b.Full.FetchTasks(ctx, req)
		b.mu.Lock()
		defer b.mu.Unlock()
		switch {
		case err != nil || len(req.Queues) == 0:
		case len(res.Tasks) > 0:
			b.task, b.owner = &res.Tasks[0], req.Owner
		case b.task != nil && b.owner != req.Owner:
			res.Tasks = append(res.Tasks, *b.task)
			b.task = nil
		}
		return res, err
	}
}

// deliverEnded gives a task out again that has ended.
func deliverEnded(b *broken) {
	var tasks []provider.LeasedTask // that are leased
	b.tasks = func(ctx context.Context, req provider.FetchTasksRequest) (provider.FetchTasksResult, error) {
		res, err := b.Full.FetchTasks(ctx, req)
		b.mu.Lock()
		defer b.mu.Unlock()
		tasks = append(tasks, res.Tasks...)
		if err == nil && len(res.Tasks) == 0 && len(req.Queues) > 0 && b.task != nil {
			res.Tasks = append(res.Tasks, *b.task)
			b.task = nil
		}
		return res, err
	}
	b.report = func(ctx context.Context, req provider.ReportTasksRequest) (provider.ReportTasksResult, error) {
		res, err := b.Full.ReportTasks(ctx, req)
		b.mu.Lock()
		defer b.mu.Unlock()
		for i := range req.Items {
			for n := range tasks {
				if req.Items[i].Outcome == provider.TaskComplete && tasks[n].TaskRef == req.Items[i].TaskRef && err == nil {
					b.task = &tasks[n]
				}
			}
		}
		return res, err
	}
}

// dropTimer forgets the first timer of some commits.
func dropTimer(b *broken) {
	b.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		if len(req.Timers) > 0 && b.every(4) {
			req.Timers = req.Timers[1:]
		}
		return b.Full.CommitTurn(ctx, req)
	}
}

// startAgain makes a repeated start another instance.
func startAgain(b *broken) {
	b.create = func(ctx context.Context, req provider.CreateRequest) (provider.CreateResult, error) {
		res, err := b.Full.Create(ctx, req)
		if err == nil && res.Created && res.Instance.Key != req.Key && b.first(res.Instance.Key) {
			if _, err := b.Full.Delete(ctx, provider.DeleteRequest{Key: res.Instance.Key, Force: true}); err != nil {
				return res, err
			}
			return b.Full.Create(ctx, req)
		}
		return res, err
	}
}

// commitHalf stores a turn without the last of its tasks, or of its starts.
func commitHalf(b *broken) {
	b.commit = func(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
		if n := len(req.Tasks); n > 1 && b.every(3) {
			req.Tasks = req.Tasks[:n-1]
		} else if n := len(req.Starts); n > 0 && b.every(3) {
			req.Starts = req.Starts[:n-1]
		}
		return b.Full.CommitTurn(ctx, req)
	}
}

// foundWithin is how many seeds may pass before a bug must be found.
const foundWithin = 200

// Each of ten classic bugs of a store is found.
func TestBugsAreFound(t *testing.T) {
	longtest.Skip(t)
	all := bugs()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		breaks := all[name]
		t.Run(name, func(t *testing.T) {
			var f figures
			for seed := uint64(1); seed <= foundWithin; seed++ {
				if wrong, _ := f.add(t, seed, breaks); len(wrong) > 0 {
					t.Logf("seed %d of %d: %s", seed, foundWithin, wrong[0])
					return
				}
			}
			t.Errorf("%d seeds have not found it: %v", foundWithin, &f)
		})
	}
}
