package faulty_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
)

func open(t *testing.T) (*faulty.Provider, *faulty.Plan) {
	t.Helper()
	plan := faulty.NewPlan(1)
	p := faulty.Wrap(memory.New(memory.Options{}), plan)
	t.Cleanup(func() { _ = p.Close() })
	if _, err := p.Create(t.Context(), provider.CreateRequest{ID: "i", Key: provider.UUID{1}, Commit: provider.UUID{2}, Name: "n"}); err != nil {
		t.Fatal(err)
	}
	return p, plan
}

func send(t *testing.T, p provider.Provider, payload string) error {
	t.Helper()
	_, err := p.Send(t.Context(), provider.SendRequest{ID: "i", Message: provider.NewMessage{Payload: []byte(payload)}})
	return err
}

func waiting(t *testing.T, p *faulty.Provider) int64 {
	t.Helper()
	res, err := p.Unwrap().Get(t.Context(), provider.GetRequest{ID: "i"})
	if err != nil {
		t.Fatal(err)
	}
	return res.Instance.InboxMessages - 1 // without the start message
}

func TestBeforeAndAfter(t *testing.T) {
	p, plan := open(t)
	plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Send}, Kind: faulty.Before, First: 1})
	plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Send}, Kind: faulty.After, Every: 2})
	wants := []struct {
		outcome provider.Outcome
		stored  int64
	}{{provider.OutcomeNothing, 0}, {provider.OutcomeUnknown, 1}, {provider.OutcomeHappened, 2}, {provider.OutcomeUnknown, 3}}
	for n, want := range wants {
		err := send(t, p, "m")
		if got := provider.OutcomeOf(err); got != want.outcome || waiting(t, p) != want.stored {
			t.Errorf("send %d: %v, %d stored, want %v, %d", n, err, waiting(t, p), want.outcome, want.stored)
		}
		if err != nil && (!provider.Retryable(err) || !errors.Is(err, faulty.ErrInjected)) {
			t.Errorf("send %d: %v is not a retryable injected fault", n, err)
		}
	}
	if got := plan.Injected(faulty.Send); got != 3 {
		t.Errorf("injected %d, want 3", got)
	}
}

func TestMatchAndOwnError(t *testing.T) {
	p, plan := open(t)
	own := errors.New("own")
	plan.Add(faulty.Rule{Kind: faulty.Before, Err: own, Match: func(req any) bool {
		s, ok := req.(provider.SendRequest)
		return ok && string(s.Message.Payload) == "bad"
	}})
	if err := send(t, p, "good"); err != nil {
		t.Error(err)
	}
	if err := send(t, p, "bad"); !errors.Is(err, own) {
		t.Errorf("got %v, want the rule's error", err)
	}
}

func TestProbabilityFollowsTheSeed(t *testing.T) {
	run := func() (struck string) {
		p, plan := open(t)
		plan.Add(faulty.Rule{Kind: faulty.Before, Probability: 0.5})
		for range 50 {
			if send(t, p, "m") == nil {
				struck += "."
			} else {
				struck += "x"
			}
		}
		return struck
	}
	first := run()
	if first != run() {
		t.Error("two runs with one seed differ")
	}
}

func TestOutage(t *testing.T) {
	p, plan := open(t)
	plan.StartOutage()
	if err := send(t, p, "m"); provider.OutcomeOf(err) != provider.OutcomeNothing || !provider.Retryable(err) {
		t.Errorf("in the outage: %v", err)
	}
	plan.EndOutage()
	if err := send(t, p, "m"); err != nil {
		t.Errorf("after the outage: %v", err)
	}
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, plan := open(t)
		release := make(chan struct{})
		plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Send}, Kind: faulty.Delay, Delay: time.Hour, Until: release, First: 1})
		done := make(chan error, 1)
		began := time.Now()
		go func() { done <- send(t, p, "late") }()
		synctest.Wait()
		time.AfterFunc(2*time.Hour, func() { close(release) })
		if err := <-done; err != nil || time.Since(began) != 2*time.Hour {
			t.Errorf("%v after %v, want none after 2h", err, time.Since(began))
		}
	})
}

func TestDelayEndsWithItsContext(t *testing.T) {
	p, plan := open(t)
	plan.Add(faulty.Rule{Kind: faulty.Delay, Until: make(chan struct{})})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Stats(ctx, provider.StatsRequest{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestInventedNotices(t *testing.T) {
	p, plan := open(t)
	var heard []provider.Notice
	stop := p.Notify(func(n provider.Notice) { heard = append(heard, n) })
	forged := provider.Notice{Key: provider.UUID{1}, Execution: 2, EventID: 3}
	p.Invent(forged)
	if len(heard) != 1 || heard[0] != forged {
		t.Errorf("heard %v", heard)
	}
	plan.InventNotices(true)
	_, err := p.CommitTurn(t.Context(), provider.CommitTurnRequest{Key: provider.UUID{1}, Execution: 1, Tasks: []provider.NewTask{
		{EventID: 7, Lease: &provider.TaskLease{}},
	}})
	heard = nil
	_, renewed := p.RenewTasks(t.Context(), provider.RenewTasksRequest{Lease: time.Second})
	if len(heard) != 2 || heard[0] != (provider.Notice{Key: provider.UUID{1}, Execution: 1, EventID: 7}) || heard[1].EventID != 0 {
		t.Errorf("heard %v: %v, %v", heard, err, renewed)
	}
	stop()
	p.Invent(forged)
	if len(heard) != 2 {
		t.Error("got a notice after stop")
	}
}

func TestDroppedNotices(t *testing.T) {
	p, plan := open(t)
	heard := 0
	stop := p.Notify(func(provider.Notice) { heard++ })
	defer stop()
	plan.DropNotices(true)
	steer := provider.SteerRequest{ID: "i", Action: provider.SteerReset, Commit: provider.UUID{3}}
	if _, err := p.Steer(t.Context(), steer); err != nil || heard != 0 {
		t.Errorf("%v, heard %d, want none", err, heard)
	}
	plan.DropNotices(false)
	steer.Commit = provider.UUID{4}
	if _, err := p.Steer(t.Context(), steer); err != nil || heard != 1 {
		t.Errorf("%v, heard %d, want 1", err, heard)
	}
}
