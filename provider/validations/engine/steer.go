package engine

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

func steerScenarios() []scenario {
	return []scenario{
		{name: "suspend", run: suspended, carries: []string{"Steer.Action", "FetchTurns", "FetchTasks", "CommitTurn", "ReportTasks", "Send"}},
		{name: "unblock", run: unblocked, carries: []string{"ReleaseTurns", "Get.WaitBlocked", "Steer.Action"}},
	}
}

func (t *trial) steer(key provider.UUID, action provider.SteerAction) provider.Instance {
	res, err := t.store.Steer(t.ctx, provider.SteerRequest{Key: key, Action: action, Commit: provider.UUID(uuid.New())})
	t.ok(err)
	return res.Instance
}

// suspended lets a running activity finish and takes events, but makes no turn until it is resumed.
func suspended(t *trial) {
	reg := runtime.NewRegistry()
	working, letGo := newGate(), newGate()
	addActivity(t, reg, "work", func(ctx context.Context, _ none) (string, error) {
		working.open()
		return "worked", letGo.wait(ctx)
	})
	addSum(t, reg)
	addOrchestration(t, reg, "plain", add)
	addOrchestration(t, reg, "main", func(ctx *octx, _ none) (string, error) {
		work, err := orchestration.CallActivityNamed[string](ctx, "work", none{})
		event, failed := orchestration.Events[string](ctx, "e").Receive(ctx)
		return work + event, errors.Join(err, failed)
	})
	t.node(reg)
	h := start[string](t, "main", none{})
	t.await(working)
	before := t.steer(h.Key(), provider.SteerSuspend)
	letGo.open()
	t.raise(h.ID(), "e", " and waited")
	for range 3 { // others continue meanwhile
		completes(t, start[int](t, "plain", 1), 2)
	}
	res, err := t.store.Get(t.ctx, provider.GetRequest{Key: h.Key()})
	t.ok(err)
	now := res.Instance
	t.checkf(now.Status == provider.StatusSuspended && now.Version == before.Version && now.HistoryLength == before.HistoryLength,
		"suspended with %d events at version %s, it is %s with %d at %s", before.HistoryLength, before.Version, now.Status, now.HistoryLength, now.Version)
	t.steer(h.Key(), provider.SteerResume)
	completes(t, h, "worked and waited")
}

// unblocked continues after its code was mended. A blocked instance can be terminated, too.
func unblocked(t *trial) {
	reg := runtime.NewRegistry()
	var mended atomic.Bool
	addSum(t, reg)
	addOrchestration(t, reg, "main", func(ctx *octx, n int) (int, error) {
		n, err := add(ctx, n)
		if !mended.Load() {
			panic("a bug")
		}
		return n, err
	})
	t.node(reg)
	h, given := start[int](t, "main", 1), start[int](t, "main", 2)
	for _, h := range []client.Handle[int]{h, given} {
		_, err := h.Wait(t.ctx, client.OrBlocked())
		t.want(err, client.ErrBlocked)
		if blocked, ok := errors.AsType[*client.BlockedError](err); ok && (blocked.Reason != "panic" || blocked.Count < 1) {
			t.errorf("blocked for %q, %d times", blocked.Reason, blocked.Count)
		}
	}
	t.ok(given.Terminate(t.ctx, "enough"))
	ends(t, given, client.StatusTerminated, orchestration.ErrTerminated)
	mended.Store(true)
	if err := h.Unblock(t.ctx); !errors.Is(err, client.ErrEnded) { // it may have been tried by itself
		t.ok(err)
	}
	if got, err := h.Wait(t.ctx); err != nil || got != 2 {
		t.errorf("got %d, %v", got, err)
	}
	t.checkf(describe(t, h).Blocked == nil, "it has ended and is blocked")
}
