package weaknesses

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// The storage decides about a start under an ID in use, by its policy. It never touches the instance that runs there,
// whatever the start asks for. Choosing among versions of an orchestration does not exist yet; a start of another
// version bypasses the client here.
func TestWeakness07_DuplicateStartTouchesNothing(t *testing.T) {
	t.Parallel()
	inEveryStore(t, claims{
		"a client's start, by every policy":  clientStarts,
		"a start of a newer version":         newerVersion,
		"a start as a child of another one":  childStart,
		"of many starts at once one happens": startsAtOnce,
		"an ended one is replaced, not gone": replaceEnded,
	})
}

// untouched compares an instance with its earlier state. Reading it changes nothing.
func untouched(e *engine, before provider.Instance) {
	e.T.Helper()
	if diff := cmp.Diff(before, e.Get(before.Key)); diff != "" {
		e.T.Errorf("the running instance was touched: %s", diff)
	}
}

// running starts "main", which waits for its end, and another orchestration.
func running(e *engine) provider.Instance {
	e.T.Helper()
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "other", func(*octx, none) (string, error) { return "other", nil })
	enginetest.Orchestration(e.T, reg, "nested", func(ctx *octx, id string) (string, error) {
		return orchestration.CallOrchestrationNamed[string](ctx, "other", none{}, orchestration.WithInstanceID(id))
	})
	key := start(e, reg, func(ctx *octx, _ none) (string, error) {
		if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
			return "", err
		}
		return orchestration.Events[string](ctx, "end").Receive(ctx)
	}, none{})
	until(e, "it waits", func() bool { i := e.Get(key); return i.HistoryLength == 3 && i.Deliveries == 0 })
	return e.Get(key)
}

func clientStarts(e *engine) {
	before := running(e)
	c, ctx := newClient(e), e.T.Context()
	id := client.WithID("main")
	for _, policy := range []client.IDPolicy{client.Reject, client.UseExisting, client.ReplaceEnded} {
		for _, name := range []string{"main", "other"} {
			h, err := client.StartNamed[string](ctx, c, name, none{}, id, client.WithIDPolicy(policy))
			if policy == client.UseExisting && name == "main" {
				if err != nil || h.Key() != before.Key {
					e.T.Errorf("the existing one is %v, %v", h.Key(), err)
				}
				continue
			}
			exists, ok := errors.AsType[*client.ExistsError](err)
			if !ok || exists.Key != before.Key || exists.Status != provider.StatusRunning {
				e.T.Errorf("policy %d, %s: %v", policy, name, err)
			}
		}
	}
	untouched(e, before)
	e.Raise(before.Key, "end", "well")
	want(e, before.Key, "well")
}

func newerVersion(e *engine) {
	before := running(e)
	for _, policy := range []provider.IDPolicy{provider.IDReject, provider.IDUseExisting, provider.IDReplaceEnded} {
		body := &history.ExecutionStarted{Name: "main", CodeVersion: "2"}
		res, err := e.Store.Create(e.T.Context(), provider.CreateRequest{
			ID: "main", Key: enginetest.NewID(), Commit: enginetest.NewID(), Name: "main", CodeVersion: "2", EngineLevel: 1, Policy: policy,
			Message: provider.NewMessage{Kind: provider.MessageKind(body.Kind()), Payload: history.Encode(nil, history.Event{Body: body})},
		})
		if policy == provider.IDUseExisting {
			if err != nil || res.Created || res.Instance.Key != before.Key {
				e.T.Errorf("existing: %+v, %v", res, err)
			}
		} else if !errors.Is(err, provider.ErrExists) {
			e.T.Errorf("policy %d: %v", policy, err)
		}
	}
	untouched(e, before)
	e.Raise(before.Key, "end", "well")
	want(e, before.Key, "well")
}

func childStart(e *engine) {
	before := running(e)
	_, err := enginetest.Result[string](e, e.Create("nested", "nested", "main"), nil)
	if !errors.Is(err, orchestration.ErrExists) {
		e.T.Errorf("the caller of the child got %v", err)
	}
	untouched(e, before)
	e.Raise(before.Key, "end", "well")
	want(e, before.Key, "well")
}

func startsAtOnce(e *engine) {
	running(e)
	c := newClient(e)
	var won, lost enginetest.Notes[string]
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			name := []string{"Echo", "other", "nested"}[i%3]
			_, err := client.StartNamed[string](e.T.Context(), c, name, i, client.WithID("contested"))
			switch {
			case err == nil:
				won.Add(name)
			case errors.Is(err, client.ErrExists):
				lost.Add(name)
			default:
				e.T.Error(err)
			}
		})
	}
	wg.Wait()
	i, _ := byID(e, "contested")
	if len(won.All()) != 1 || len(lost.All()) != 19 || i.Name != won.All()[0] {
		e.T.Errorf("won %v, the instance runs %s", won.All(), i.Name)
	}
	ended(e, i.Key)
}

func replaceEnded(e *engine) {
	old := running(e)
	e.Raise(old.Key, "end", "well")
	want(e, old.Key, "well")
	c, ctx := newClient(e), e.T.Context()
	if _, err := client.StartNamed[string](ctx, c, "other", none{}, client.WithID("main")); !errors.Is(err, client.ErrExists) {
		e.T.Errorf("an ID is not given again unasked: %v", err)
	}
	h, err := client.StartNamed[string](ctx, c, "other", none{}, client.WithID("main"), client.WithIDPolicy(client.ReplaceEnded))
	if err != nil {
		e.T.Fatal(err)
	}
	if got, err := h.Wait(ctx); got != "other" || err != nil {
		e.T.Errorf("the new one returned %q, %v", got, err)
	}
	if got, err := client.HandleOf[string](c, "main", old.Key).Wait(ctx); got != "well" || err != nil {
		e.T.Errorf("the old one returned %q, %v", got, err)
	}
	if got := kinds(e, old.Key, 1); got != "ExecutionStarted ActivityScheduled ActivityCompleted EventReceived ExecutionCompleted" {
		e.T.Errorf("the old history is %s", got)
	}
}
