package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// outcomeStore counts the reads of an instance's values and fails the next one if asked.
type outcomeStore struct {
	*provider.Full

	reads atomic.Int64
	fail  atomic.Bool
}

// Get implements [provider.Provider].
func (s *outcomeStore) Get(ctx context.Context, req provider.GetRequest) (provider.GetResult, error) {
	if req.WithValues {
		s.reads.Add(1)
		if s.fail.CompareAndSwap(true, false) {
			return provider.GetResult{}, &provider.Error{Op: "get", Err: errors.New("by the test"), Retryable: true}
		}
	}
	return s.Full.Get(ctx, req)
}

// The outcomes of updates are read before an execution takes any message of the turn: a read that fails leaves it as it was, in the cache.
func TestHazard91_OutcomesAreReadBeforeAnythingChanges(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		store := &outcomeStore{Full: provider.FullOf(e.Store)}
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "collect", func(ctx *octx, _ none) (string, error) {
			got := ""
			orchestration.HandleUpdate(ctx, "ask", func(*octx, none) (string, error) { return got, nil })
			box := orchestration.Events[int](ctx, "box")
			for range 3 {
				n, err := box.Receive(ctx)
				if err != nil {
					return "", err
				}
				got += fmt.Sprint(n)
			}
			return got, nil
		})
		rt := e.StartOn(store, reg, e.Options)
		key := e.Create("one", "collect", none{})
		synctest.Wait()
		later := func(body history.Body) { // all three come with one fetch
			message := provider.NewMessage{Kind: provider.MessageKind(body.Kind()), Payload: history.Encode(nil, history.Event{Body: body}), Delay: time.Second}
			if _, err := e.Store.Send(e.T.Context(), provider.SendRequest{Key: key, Message: message}); err != nil {
				e.T.Fatal(err)
			}
		}
		later(boxed(1))
		later(boxed(2))
		later(&history.UpdateReceived{Name: "ask", ID: "mine", Input: []byte("{}")})
		store.fail.Store(true)
		h, err := client.Lookup[string](e.T.Context(), e.Client(client.Options{}), "one")
		if err != nil {
			e.T.Fatal(err)
		}
		u := client.UpdateOf[string](h, "mine")
		if got, err := u.Wait(e.T.Context()); got != "12" || err != nil {
			e.T.Errorf("the update sees %q, %v", got, err)
		}
		if s := rt.Stats(); store.reads.Load() != 2 || s.ColdReplays != 0 || s.CacheEvictions != 0 || s.TurnsFailed != 0 {
			e.T.Errorf("%d reads, want 2; %d replays, %d evictions and %d failed turns, want none", store.reads.Load(), s.ColdReplays, s.CacheEvictions, s.TurnsFailed)
		}
		e.Raise(key, "box", 3)
		if got := enginetest.Output[string](e, key); got != "123" {
			e.T.Errorf("the code got %q", got)
		}
	})
}

// A turn that fails on several messages lets the next one give them to the code one by one, also if one of them was an update that panicked:
// the first error that the instance shows names its message.
func TestPanickedUpdateKeepsMessagesOneByOne(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
			orchestration.HandleUpdate(ctx, "bad", func(*octx, none) (none, error) { panic("update") })
			box := orchestration.Events[int](ctx, "box")
			for {
				n, err := box.Receive(ctx)
				if err != nil {
					return none{}, err
				}
				if n == 13 {
					panic("thirteen")
				}
			}
		})
		e.Start(reg)
		key := e.Create("one", "main", none{})
		synctest.Wait()
		for _, body := range []history.Body{&history.UpdateReceived{Name: "bad", ID: "mine", Input: []byte("{}")}, boxed(1), boxed(13)} {
			message := provider.NewMessage{Kind: provider.MessageKind(body.Kind()), Payload: history.Encode(nil, history.Event{Body: body}), Delay: time.Second}
			if _, err := e.Store.Send(e.T.Context(), provider.SendRequest{Key: key, Message: message}); err != nil {
				e.T.Fatal(err)
			}
		}
		if b := e.WaitBlocked(key, 1).Blocked; b.Count != 1 || !strings.HasPrefix(b.Message, "message ") {
			e.T.Errorf("blocked %d times: %.200s", b.Count, b.Message)
		}
	})
}
