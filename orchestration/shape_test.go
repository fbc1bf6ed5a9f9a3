package orchestration_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// Functions of other shapes become activities by an adapter, under the name that it was given, for all callers.
func TestHazard45_AdaptersGiveStableNames(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		sent := ""
		ping := activity.NoIn("ping", func(context.Context) (string, error) { return "pong", nil })
		send := activity.NoOut("send", func(_ context.Context, text string) error { sent = text; return nil })
		fail := activity.NoOut("fail", func(context.Context, none) error { return errRefused })
		reg := registry(e.T)
		if err := errors.Join(runtime.AddActivity(reg, ping), runtime.AddActivity(reg, send), runtime.AddActivity(reg, fail)); err != nil {
			e.T.Fatal(err)
		}
		key := start(e, reg, func(ctx *octx, _ none) (string, error) {
			pong, err := orchestration.CallActivity(ctx, ping, none{})
			if err != nil {
				return "", err
			}
			if _, err := orchestration.CallActivity(ctx, send, pong); err != nil {
				return "", err
			}
			if _, err := orchestration.CallActivity(ctx, fail, none{}); err == nil {
				return "", errors.New("the error is lost")
			}
			return orchestration.CallActivityNamed[string](ctx, "ping", none{})
		}, none{})
		if got := enginetest.Output[string](e, key); got != "pong" || sent != "pong" {
			e.T.Errorf("got %q, sent %q", got, sent)
		}
		var names []string
		for _, event := range e.History(key, 1) {
			if b, ok := event.Body.(*history.ActivityScheduled); ok {
				names = append(names, b.Name)
			}
		}
		if got := strings.Join(names, " "); got != "ping send fail ping" {
			e.T.Errorf("stored names %s", got)
		}
	})
}

// Open work is cancelled when the code returns: running activities and children are cancelled, timers and tasks leave the
// store, coroutines end.
func TestHazard45_WhatNobodyAwaitsIsCancelled(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		var causes enginetest.Notes[error]
		var ended enginetest.Notes[string]
		running := make(chan struct{}, 10)
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "run", func(ctx context.Context, _ none) (none, error) {
			running <- struct{}{}
			<-ctx.Done()
			causes.Add(context.Cause(ctx))
			return none{}, ctx.Err()
		})
		enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, _ none) (none, error) { return none{}, ctx.Sleep(24 * time.Hour) })
		key := start(e, reg, func(ctx *octx, _ none) (none, error) {
			orchestration.StartActivityNamed[none](ctx, "run", none{})
			orchestration.StartActivityNamed[none](ctx, "nobody has it", none{})
			orchestration.StartOrchestrationNamed[none](ctx, "child", none{}, orchestration.WithInstanceID("child"))
			orchestration.StartTimer(ctx, 24*time.Hour)
			ctx.Go(func(ctx *octx) error {
				defer ended.Add("coroutine") // at each eviction, too
				return ctx.Sleep(24 * time.Hour)
			})
			_, err := orchestration.Events[none](ctx, "return").Receive(ctx)
			return none{}, err
		}, none{})
		<-running
		e.Raise(key, "return", none{})
		enginetest.Output[none](e, key)
		e.Until("the activity has heard", func() bool { return len(causes.All()) == 1 })
		if cause := causes.All()[0]; !errors.Is(cause, activity.ErrOrchestrationEnded) {
			e.T.Errorf("the activity was cancelled by %v", cause)
		}
		res, err := e.Store.Get(e.T.Context(), provider.GetRequest{ID: "child"})
		if err != nil {
			e.T.Fatal(err)
		}
		if child := e.WaitEnded(res.Instance.Key); child.Status != provider.StatusCancelled {
			e.T.Errorf("the child is %v", child.Status)
		}
		if i := e.Get(key); i.InboxMessages != 0 || len(e.Tasks(key)) != 0 {
			e.T.Errorf("left are %d messages, tasks %+v", i.InboxMessages, e.Tasks(key))
		}
		e.Until("the coroutine has ended", func() bool { return len(ended.All()) > 0 })
	})
}
