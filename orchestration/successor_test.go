package orchestration_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Ten thousand events of a kibibyte, received and not read, open the next execution one by one in their order. None is
// lost, though they fit into no input.
func TestHazard29_TenThousandUnreadEventsGoAlong(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	const n = 10_000
	stores := map[string]func(t *testing.T, test func(*enginetest.Engine)){
		"memory": func(t *testing.T, test func(*enginetest.Engine)) {
			t.Helper()
			enginetest.Bubble(t, runtime.Options{}, test)
		},
		"sqlite": func(t *testing.T, test func(*enginetest.Engine)) {
			t.Helper()
			test(enginetest.SQLite(t, runtime.Options{Cache: runtime.CacheOptions{Executions: runtime.Off}}))
		},
	}
	for name, run := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, first bool) (int, error) {
					if first {
						if _, err := orchestration.Events[none](ctx, "go").Receive(ctx); err != nil {
							return 0, err
						}
						return 0, orchestration.ContinueAsNew(ctx, false)
					}
					got, err := drainTexts(ctx, "box")
					for i, v := range got {
						if !strings.HasPrefix(v, fmt.Sprintf("%d ", i)) {
							return 0, fmt.Errorf("event %d is %.10q", i, v)
						}
					}
					return len(got), err
				})
				key := e.Create("main", "main", true)
				filler := strings.Repeat("x", 1<<10)
				for i := range n {
					e.Raise(key, "box", fmt.Sprint(i, " ", filler))
				}
				e.Raise(key, "go", none{})
				e.Raise(key, "box", "") // waits in the inbox when the execution ends
				e.Start(reg)
				if got := enginetest.Output[int](e, key); got != n {
					e.T.Errorf("got %d", got)
				}
				opening := kinds(e.History(key, 2)[:n+3])
				want := "ExecutionStarted" + strings.Repeat(" EventReceived", n+1) + " ExecutionOpened"
				if opening != want {
					e.T.Errorf("the next execution does not open with single events: %.200s", opening)
				}
			})
		})
	}
}

// drainTexts receives texts until an empty one.
func drainTexts(ctx *octx, name string) ([]string, error) {
	var got []string
	box := orchestration.Events[string](ctx, name)
	for {
		v, err := box.Receive(ctx)
		if err != nil || v == "" {
			return got, err
		}
		got = append(got, v)
	}
}

// An attached child of the old execution is cancelled. Its later result, or that of an old activity or timer, reaches nothing
// of the new execution, whose events have the same numbers.
func TestHazard29_ResultsOfTheOldExecutionReachNobody(t *testing.T) {
	t.Parallel()
	calls := map[string]func(ctx *octx, round int) orchestration.Future[string]{
		"child": func(ctx *octx, round int) orchestration.Future[string] {
			return orchestration.StartOrchestrationNamed[string](ctx, "stubborn", round)
		},
		"activity": func(ctx *octx, round int) orchestration.Future[string] {
			return orchestration.StartActivityNamed[string](ctx, "stubborn", round)
		},
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				var cancelled enginetest.Notes[int]
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "stubborn", func(ctx *octx, round int) (string, error) {
					if err := ctx.Sleep(time.Hour); err != nil {
						cancelled.Add(round)
						if err := ctx.Detached().Sleep(time.Minute); err != nil {
							return "", err
						}
					}
					return fmt.Sprint("of round ", round), nil
				})
				enginetest.Activity(e.T, reg, "stubborn", func(ctx context.Context, round int) (string, error) {
					timer := time.NewTimer(time.Hour)
					defer timer.Stop()
					select {
					case <-ctx.Done():
						cancelled.Add(round)
					case <-timer.C:
					}
					return fmt.Sprint("of round ", round), nil
				})
				key := start(e, reg, func(ctx *octx, round int) (string, error) {
					f := call(ctx, round)
					if round == 2 {
						return f.Get(ctx)
					}
					if err := ctx.Sleep(time.Second); err != nil {
						return "", err
					}
					return "", orchestration.ContinueAsNew(ctx, round+1)
				}, 0)
				if got := enginetest.Output[string](e, key); got != "of round 2" {
					e.T.Errorf("the last execution got the result %s", got)
				}
				e.Until("both were cancelled", func() bool { return len(cancelled.All()) >= 2 })
				all := cancelled.All()
				for _, round := range all {
					if round == 2 {
						e.T.Error("what the last execution awaits was cancelled")
					}
				}
			})
		})
	}
}

// A request that an earlier execution consumed, or that was carried over unread, is known
// to the next.
func TestHazard29_RequestIDsMoveOn(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, round int) ([]int, error) {
			if round == 3 {
				return drain(ctx, "box")
			}
			if _, err := orchestration.Events[none](ctx, "go").Receive(ctx); err != nil {
				return nil, err
			}
			return nil, orchestration.ContinueAsNew(ctx, round+1)
		})
		e.Start(reg)
		key := e.Create("main", "main", 0)
		for round := range 3 {
			for _, request := range []string{"go 0", "go 1", "go 2"}[:round+1] {
				e.RaiseAs(key, "go", none{}, request) // only the last one is new
			}
			e.RaiseAs(key, "box", 7, "unread")
			e.Until("the round is over", func() bool { i := e.Get(key); return i.Execution == int64(round)+2 && i.InboxMessages == 0 })
		}
		e.RaiseAs(key, "box", 7, "unread")
		e.Raise(key, "box", 8)
		e.Raise(key, "box", -1)
		if diff := cmp.Diff([]int{7, 8}, enginetest.Output[[]int](e, key)); diff != "" {
			e.T.Error(diff)
		}
		if i := e.Get(key); i.Execution != 4 {
			e.T.Errorf("ended in execution %d", i.Execution)
		}
	})
}

// A message that arrives while an execution continues as new stays in the inbox for the next one, with its place in the
// order. An execution that has ended says so.
func TestHazard29_InboxStaysAndStatusesSayHowItEnded(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) { inboxStays(e, e.Create) })
	enginetest.EveryMode(t, func(e *enginetest.Engine) { inboxStays(e, e.CreateOneByOne) })
}

func inboxStays(e *enginetest.Engine, create func(id, name string, input any) provider.UUID) {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, first bool) ([]int, error) {
		if first {
			orchestration.StartActivityNamed[int](ctx, "elsewhere", 1)
			if _, err := orchestration.Events[none](ctx, "go").Receive(ctx); err != nil {
				return nil, err
			}
			return nil, orchestration.ContinueAsNew(ctx, false)
		}
		return drain(ctx, "box")
	})
	rt := e.Start(reg)
	key := create("main", "main", true)
	e.Until("it waits", func() bool { return len(e.Tasks(key)) == 1 })
	task := take(e, "elsewhere")
	e.Stop(rt)
	e.Raise(key, "go", none{})
	for i := range 3 {
		e.Raise(key, "box", i)
	}
	e.Start(reg)
	e.Until("the next execution reads", func() bool { i := e.Get(key); return i.Execution == 2 && i.InboxMessages == 0 })
	res, err := e.Store.RenewTasks(e.T.Context(), provider.RenewTasksRequest{Lease: time.Minute, Items: []provider.TaskRenewal{task}})
	if err != nil {
		e.T.Fatal(err)
	}
	want := provider.ExecutionState{Kind: provider.ExecutionTerminal, Status: provider.StatusContinuedAsNew}
	if got := res.Items[0].State; got != want {
		e.T.Errorf("the old task's execution is %+v, want %+v", got, want)
	}
	e.Raise(key, "box", -1)
	if diff := cmp.Diff([]int{0, 1, 2}, enginetest.Output[[]int](e, key)); diff != "" {
		e.T.Error(diff)
	}
	first := e.History(key, 1)
	if last := first[len(first)-1].Body.Kind(); last != history.KindContinuedAsNew {
		e.T.Errorf("the first execution ends with %v", last)
	}
}

// take leases the only task of a name, as a node elsewhere does.
func take(e *enginetest.Engine, name string) provider.TaskRenewal {
	e.T.Helper()
	req := provider.FetchTasksRequest{
		Owner: "elsewhere", Token: enginetest.NewID(), Lease: time.Minute, Max: 1,
		Queues: []provider.QueueFilter{{Queue: orchestration.DefaultQueue, Names: []string{name}}},
	}
	res, err := e.Store.FetchTasks(e.T.Context(), req)
	if err != nil || len(res.Tasks) != 1 {
		e.T.Fatalf("fetched %d tasks, %v", len(res.Tasks), err)
	}
	return provider.TaskRenewal{TaskRef: res.Tasks[0].TaskRef, Token: provider.TaskToken(req.Token, res.Tasks[0].TaskRef)}
}
