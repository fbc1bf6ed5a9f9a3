package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// incarnations registers "order", which waits for an activity, a timer and a child, in this order of events. The
// activity and the child of the n-th incarnation end when n is let go.
func incarnations(e *enginetest.Engine, begun chan<- int, letGo []chan struct{}) *runtime.Registry {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Activity(e.T, reg, "work", func(_ context.Context, n int) (int, error) {
		begun <- n
		<-letGo[n]
		return 10 * n, nil
	})
	enginetest.Orchestration(e.T, reg, "kid", func(ctx *octx, n int) (int, error) {
		return orchestration.Events[int](ctx, "go").Receive(ctx)
	})
	enginetest.Orchestration(e.T, reg, "order", func(ctx *octx, n int) (int, error) {
		work := orchestration.StartActivityNamed[int](ctx, "work", n)
		timer := orchestration.StartTimer(ctx, time.Duration(n)*time.Hour)
		kid := orchestration.StartOrchestrationNamed[int](ctx, "kid", n)
		began := ctx.Now()
		_, err1 := timer.Get(ctx)
		if took := ctx.Now().Sub(began); took < time.Duration(n)*time.Hour {
			return 0, errors.New("another's timer fired")
		}
		v, err2 := work.Get(ctx)
		k, err3 := kid.Get(ctx)
		return v + k, errors.Join(err1, err2, err3)
	})
	return reg
}

// An instance leaves a running activity, a timer and a child. None reaches its successor under the same ID, whose
// events have the same numbers.
func TestHazard02_NothingReachesTheSuccessor(t *testing.T) {
	t.Parallel()
	for name, replaced := range map[string]bool{"deleted": false, "replaced": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				begun, letGo := make(chan int, 2), []chan struct{}{nil, make(chan struct{}), make(chan struct{})}
				reg := incarnations(e, begun, letGo)
				e.Options.Leaks.GracePeriod = 100 * time.Hour
				rt := e.Start(reg)
				old := e.Create("order", "order", 1)
				<-begun
				synctest.Wait()
				oldKid := child(e, old)
				if replaced {
					e.Terminate(old, "enough")
				} else if _, err := e.Store.Delete(e.T.Context(), provider.DeleteRequest{Key: old, Force: true}); err != nil {
					e.T.Fatal(err)
				}
				key := replace(e, 2)
				<-begun
				synctest.Wait()
				close(letGo[1])
				// A message by the old key finds nobody.
				_, err := e.Store.Send(e.T.Context(), provider.SendRequest{Key: old, Message: provider.NewMessage{
					Kind: provider.MessageKind(history.KindActivityCompleted), Execution: 1, EventID: 2,
					Payload: history.Encode(nil, history.Event{Body: &history.ActivityCompleted{Scheduled: 2, Output: []byte("10"), Attempt: 1}}),
				}})
				if !errors.Is(err, provider.ErrNotFound) && !errors.Is(err, provider.ErrEnded) {
					e.T.Errorf("sending to the old key: %v", err)
				}
				time.Sleep(90 * time.Minute) //nolint:forbidigo // virtual time: the old timer would have fired
				if i := e.Get(key); i.InboxMessages != 1 || i.HistoryLength != 4 || len(e.Tasks(key)) != 1 {
					e.T.Errorf("%d messages, %d events, tasks %+v", i.InboxMessages, i.HistoryLength, e.Tasks(key))
				}
				kid := child(e, key)
				if kid == oldKid {
					e.T.Error("the child is the old one")
				}
				e.Raise(kid, "go", 5)
				close(letGo[2])
				if got := enginetest.Output[int](e, key); got != 25 {
					e.T.Errorf("got %d", got)
				}
				results(e, key)
				if c := provider.CountersOf(e.Store); replaced && c.Dropped == 0 {
					e.T.Errorf("nobody counted what the old child had to say: %+v", c)
				}
				if n := rt.Stats().LeasesLost; n != 1 {
					e.T.Errorf("%d results had nowhere to go, want the old one", n)
				}
			})
		})
	}
}

// child returns the key of an instance's only child.
func child(e *enginetest.Engine, parent provider.UUID) provider.UUID {
	e.T.Helper()
	res, err := e.Store.List(e.T.Context(), provider.ListRequest{Filter: provider.Filter{ParentKey: parent}})
	if err != nil || len(res.Instances) != 1 {
		e.T.Fatalf("%d children: %v", len(res.Instances), err)
	}
	return res.Instances[0].Key
}

// replace starts "order" under its ID, in place of an ended one if there is one.
func replace(e *enginetest.Engine, input int) provider.UUID {
	e.T.Helper()
	body := &history.ExecutionStarted{Name: "order", Input: fmt.Append(nil, input), Settings: replay.SettingsAt(replay.EngineLevel)}
	key := enginetest.NewID()
	_, err := e.Store.Create(e.T.Context(), provider.CreateRequest{
		ID: "order", Key: key, Commit: enginetest.NewID(), Name: "order", EngineLevel: replay.EngineLevel, Policy: provider.IDReplaceEnded,
		Message: provider.NewMessage{Kind: provider.MessageKind(body.Kind()), Payload: history.Encode(nil, history.Event{Body: body})},
	})
	if err != nil {
		e.T.Fatal(err)
	}
	return key
}
