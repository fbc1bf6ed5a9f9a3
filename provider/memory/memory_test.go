package memory_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

func create(t *testing.T, p provider.Provider, delay time.Duration) {
	t.Helper()
	_, err := p.Create(t.Context(), provider.CreateRequest{
		ID: "i", Key: provider.UUID{1}, Commit: provider.UUID{2}, Name: "n", Message: provider.NewMessage{Delay: delay},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func fetch(wait time.Duration) provider.FetchTurnsRequest {
	return provider.FetchTurnsRequest{
		Owner: "o", Token: provider.UUID{3}, Lease: time.Second, Max: 1, Wait: wait,
		Capabilities: []provider.Capability{{Name: "n"}},
	}
}

// A blocked call notices that a test moved the clock.
func TestVirtualClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // only to know when the fetch is blocked
		start := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
		clock := memory.NewClock(start)
		p := memory.New(memory.Options{Clock: clock})
		create(t, p, time.Hour)
		fetched := make(chan provider.FetchTurnsResult, 1)
		go func() {
			res, err := p.FetchTurns(t.Context(), fetch(time.Minute))
			if err != nil {
				t.Error(err)
			}
			fetched <- res
		}()
		synctest.Wait()
		clock.Advance(time.Minute)
		if res := <-fetched; len(res.Turns) != 0 || res.Now != provider.TimeOf(start.Add(time.Minute)) {
			t.Errorf("after a minute: %+v", res)
		}
		clock.Advance(time.Hour)
		res, err := p.FetchTurns(t.Context(), fetch(0))
		if err != nil || len(res.Turns) != 1 {
			t.Errorf("after the hour: %v, %+v", err, res)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A call that waits for nothing returns at once on each clock, also at the instant that is stored as 0.
func TestNoWaitAtTheEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := memory.New(memory.Options{Clock: memory.NewClock(time.Unix(0, 0))})
		create(t, p, time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if res, err := p.FetchTurns(ctx, fetch(0)); err != nil || len(res.Turns) != 0 {
			t.Errorf("%v, %d turns, want none at once", err, len(res.Turns))
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
}

// In a bubble a day passes at once. Close leaves no goroutine behind, or the bubble would report a deadlock.
func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := memory.New(memory.Options{})
		create(t, p, 30*time.Second)
		began := time.Now()
		res, err := p.FetchTurns(t.Context(), fetch(time.Minute))
		if err != nil || len(res.Turns) != 1 || time.Since(began) != 30*time.Second {
			t.Errorf("%v, %d turns after %v", err, len(res.Turns), time.Since(began))
		}
		done := make(chan error, 1)
		go func() {
			_, err := p.Ask(t.Context(), provider.AskRequest{ID: "i", AskID: provider.UUID{9}, Wait: time.Minute})
			done <- err
		}()
		synctest.Wait()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, provider.ErrClosed) {
			t.Errorf("got %v, want ErrClosed", err)
		}
	})
}

func TestNotices(t *testing.T) {
	p := memory.New(memory.Options{})
	defer func() { _ = p.Close() }()
	create(t, p, 0)
	var heard []provider.Notice
	stop := p.Notify(func(n provider.Notice) { heard = append(heard, n) })
	commit := provider.CommitTurnRequest{
		Key: provider.UUID{1}, Execution: 1, Expected: provider.UUID{2}, Commit: provider.UUID{4}, Status: provider.StatusRunning,
		Tasks: []provider.NewTask{
			{EventID: 7, Queue: "q", Name: "a", Lease: &provider.TaskLease{Token: provider.UUID{5}, Owner: "o", Duration: time.Minute}},
		},
	}
	steps := []struct {
		change func()
		want   []provider.Notice
	}{
		{func() {}, nil},
		{func() {
			commit.Expected, commit.Commit, commit.Tasks = provider.UUID{4}, provider.UUID{6}, nil
			commit.CancelTasks = []provider.CancelTask{{EventID: 7}}
		}, []provider.Notice{{Key: provider.UUID{1}, Execution: 1, EventID: 7}}},
		{func() {
			commit.Expected, commit.Commit, commit.CancelTasks = provider.UUID{6}, provider.UUID{8}, nil
			commit.Status, commit.CloseInbox = provider.StatusFailed, "test"
		}, []provider.Notice{{Key: provider.UUID{1}, Execution: 1}}},
	}
	for i, step := range steps {
		heard = nil
		step.change()
		if _, err := p.CommitTurn(t.Context(), commit); err != nil {
			t.Fatal(err)
		}
		if len(heard) != len(step.want) || (len(heard) == 1 && heard[0] != step.want[0]) {
			t.Errorf("step %d: heard %+v, want %+v", i, heard, step.want)
		}
	}
	stop()
	heard = nil
	if _, err := p.Delete(t.Context(), provider.DeleteRequest{ID: "i"}); err != nil || heard != nil {
		t.Errorf("after stop: %v, heard %+v", err, heard)
	}
}
