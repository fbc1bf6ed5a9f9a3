package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/runtime"
)

func deadLetters(e *enginetest.Engine) []provider.DeadLetter {
	e.T.Helper()
	var all []provider.DeadLetter
	for {
		req := provider.DeadLettersRequest{Action: provider.DeadLettersList}
		if len(all) > 0 {
			req.Cursor = all[len(all)-1].ID
		}
		res, err := e.Store.DeadLetters(e.T.Context(), req)
		if err != nil {
			e.T.Fatal(err)
		}
		if len(res.Letters) == 0 {
			return all
		}
		all = append(all, res.Letters...)
	}
}

// offer sends an event and reports whether the store took it.
func offer(e *enginetest.Engine, key provider.UUID, n int) bool {
	e.T.Helper()
	body := &history.EventReceived{Name: "box", Payload: fmt.Append(nil, n), RequestID: fmt.Sprint(n)}
	_, err := e.Store.Send(e.T.Context(), provider.SendRequest{Key: key, Message: provider.NewMessage{
		Kind: provider.MessageKind(body.Kind()), Payload: history.Encode(nil, history.Event{Body: body}),
	}})
	if err != nil && !errors.Is(err, provider.ErrEnded) {
		e.T.Error(err)
	}
	return err == nil
}

// Events are sent as fast as possible until the instance has ended. Each accepted event is in the history, or it is a
// dead letter with a reason.
func TestHazard04_NoAcceptedEventIsLost(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "count", func(ctx *octx, n int) (int, error) {
			box := orchestration.Events[int](ctx, "box")
			for i := range n {
				v, err := box.Receive(ctx)
				if err != nil || v != i {
					return 0, fmt.Errorf("event %d is %d: %w", i, v, err)
				}
			}
			return n, nil
		})
		e.Start(reg)
		for id, create := range map[string]func(id, name string, input any) provider.UUID{"together": e.Create, "one by one": e.CreateOneByOne} {
			flood(e, create(id, "count", 100))
		}
	})
}

// flood sends events as fast as possible until the instance has ended, and looks for each.
func flood(e *enginetest.Engine, key provider.UUID) {
	e.T.Helper()
	accepted := 0
	for offer(e, key, accepted) {
		if accepted++; accepted%10 == 0 && e.Virtual {
			synctest.Wait() // lets the node in between
		}
	}
	enginetest.Output[int](e, key)
	stored := received(e, key)
	dead := slices.DeleteFunc(deadLetters(e), func(l provider.DeadLetter) bool { return l.Key != key })
	if stored+len(dead) != accepted {
		e.T.Errorf("%d accepted, %d in the history, %d in the dead letters", accepted, stored, len(dead))
	}
	for _, l := range dead {
		if l.Reason == "" {
			e.T.Errorf("%+v", l)
		}
	}
}

// received returns how many events are in the history.
func received(e *enginetest.Engine, key provider.UUID) (n int) {
	e.T.Helper()
	for _, event := range e.History(key, 1) {
		if event.Body.Kind() == history.KindEventReceived {
			n++
		}
	}
	return n
}

// An event that comes between the fetch and the commit of the closing turn makes that turn
// begin again, and is not lost.
func TestHazard04_EventDuringTheClosingCommit(t *testing.T) {
	t.Parallel()
	withFaults(t, runtime.Options{}, func(e *enginetest.Engine, plan *faulty.Plan, node provider.Provider) {
		closing, sent := make(chan struct{}, 100), make(chan struct{})
		plan.Add(faulty.Rule{
			Ops: []faulty.Op{faulty.CommitTurn}, Kind: faulty.Delay, Until: sent,
			Match: func(req any) bool {
				if !req.(provider.CommitTurnRequest).Status.Ended() {
					return false
				}
				closing <- struct{}{}
				return true
			},
		})
		e.StartOn(node, registry(e.T), e.Options)
		key := e.Create("chain", "Chain", 3)
		<-closing
		if !offer(e, key, 1) {
			e.T.Fatal("a running instance takes events")
		}
		close(sent)
		if got := enginetest.Output[int](e, key); got != 8 {
			e.T.Errorf("got %d", got)
		}
		// The result went to the inbox behind the event, which so came before the end.
		last := e.History(key, 1)
		if got := last[len(last)-3].Body.Kind(); got != history.KindEventReceived || len(deadLetters(e)) != 0 {
			e.T.Errorf("the event is not in the history: %v, dead letters %+v", got, deadLetters(e))
		}
		results(e, key)
	})
}

// intruder is a store that puts a message into the inbox before each commit that would close the instance.
type intruder struct {
	*provider.Full

	closings atomic.Int64
}

func (n *intruder) CommitTurn(ctx context.Context, req provider.CommitTurnRequest) (provider.CommitTurnResult, error) {
	if req.Status.Ended() && n.closings.Add(1) <= 20 {
		body := &history.CancelRequested{Reason: "late", RequestID: enginetest.NewID().String()}
		if _, err := n.Provider.Send(ctx, provider.SendRequest{Key: req.Key, Message: provider.NewMessage{
			Kind: provider.MessageKind(body.Kind()), Payload: history.Encode(nil, history.Event{Body: body}),
		}}); err != nil {
			return provider.CommitTurnResult{}, err
		}
	}
	return n.Provider.CommitTurn(ctx, req)
}

// A steady sender cannot keep an instance from ending: events after three rounds go to the dead letters.
func TestHazard04_ClosesAfterThreeRounds(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "receive", func(ctx *octx, _ none) (int, error) {
			return orchestration.Events[int](ctx, "box").Receive(ctx)
		})
		node := &intruder{Full: e.Store}
		e.StartOn(node, reg, e.Options)
		key := e.Create("receive", "receive", none{})
		synctest.Wait()
		offer(e, key, 5)
		if got := enginetest.Output[int](e, key); got != 5 {
			e.T.Errorf("got %d", got)
		}
		dead := deadLetters(e)
		if n := node.closings.Load(); n != 4 || len(dead) != 1 || dead[0].Reason == "" {
			e.T.Errorf("tried to close %d times, dead letters %+v", n, dead)
		}
	})
}

// An event that comes while an execution continues as new stays, and is read by the next one.
func TestHazard04_ContinueAsNewKeepsWhatCame(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "sum", func(ctx *octx, got []int) ([]int, error) {
			v, err := orchestration.Events[int](ctx, "box").Receive(ctx)
			if got = append(got, v); err != nil || len(got) == 3 {
				return got, err
			}
			return nil, orchestration.ContinueAsNew(ctx, got)
		})
		node := newHeld(e.Store)
		e.StartOn(node, reg, e.Options)
		key := e.Create("sum", "sum", []int{})
		synctest.Wait()
		node.hold.Store(true)
		offer(e, key, 1)
		<-node.reached // the commit that continues as new
		offer(e, key, 2)
		offer(e, key, 3)
		close(node.release)
		if got := enginetest.Output[[]int](e, key); fmt.Sprint(got) != "[1 2 3]" {
			e.T.Errorf("got %v", got)
		}
		if i := e.Get(key); i.Execution != 3 || len(deadLetters(e)) != 0 {
			e.T.Errorf("execution %d, dead letters %+v", i.Execution, deadLetters(e))
		}
	})
}

// The code ends at the first result while more wait than one fetch holds. The instance still closes, however often
// its inbox was not empty.
func TestInstanceWithManyUnreadResultsCloses(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		const width = provider.MaxFetchMessages*2 + 500
		turns := runtime.NewRegistry()
		enginetest.Orchestration(e.T, turns, "first", func(ctx *octx, n int) (int, error) {
			futures := make([]orchestration.Future[int], n)
			for i := range futures {
				futures[i] = orchestration.StartActivityNamed[int](ctx, "Double", i)
			}
			_, index, err := orchestration.Race(ctx, futures...)
			return index, err
		})
		// One node makes the first turn, another all results; only then comes the next turn.
		rt := e.Start(turns)
		key := e.Create("first", "first", width)
		e.Until("all are scheduled", func() bool { return len(e.Tasks(key)) == width })
		e.Stop(rt)
		worker := runtime.NewRegistry()
		if err := runtime.AddActivity(worker, Double); err != nil {
			e.T.Fatal(err)
		}
		e.Start(worker)
		e.Until("all have run", func() bool { return e.Get(key).InboxMessages == width })
		e.Start(turns)
		began := time.Now()
		enginetest.Output[int](e, key)
		if took := time.Since(began); took > time.Minute {
			e.T.Errorf("took %v", took)
		}
	})
}
