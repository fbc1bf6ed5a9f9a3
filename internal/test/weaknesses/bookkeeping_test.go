package weaknesses

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// The store's data about an instance is correct: the owner of each event, the time of each change, the end of each
// execution. Errors have types. Ranges of versions do not exist yet.
func TestWeakness12_BookkeepingIsRight(t *testing.T) {
	t.Parallel()
	inEveryStore(t, claims{
		"failures name the events they belong to":  failureIDs,
		"executions have their own ends":           executionStatuses,
		"errors have types, texts mean nothing":    typedErrors,
		"a delete never takes what was just begun": deleteAgainstStart,
		"a delete never takes what is resumed":     deleteAgainstResume,
	})
	inEveryMode(t, claims{"times are those of the deeds": times})
}

// failureIDs fails an activity and a child in the second execution, after other events.
func failureIDs(e *engine) {
	reg := registry(e)
	var infos enginetest.Notes[activity.Info]
	enginetest.Activity(e.T, reg, "fail", func(ctx context.Context, _ none) (none, error) {
		infos.Add(activity.GetInfo(ctx))
		return none{}, errRefused
	})
	enginetest.Orchestration(e.T, reg, "child", func(*octx, none) (none, error) { return none{}, errRefused })
	key := start(e, reg, func(ctx *octx, n int) (string, error) {
		if n == 0 {
			return "", orchestration.ContinueAsNew(ctx, 1)
		}
		if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
			return "", err
		}
		_, one := orchestration.CallActivityNamed[none](ctx, "fail", none{})
		_, two := orchestration.CallOrchestrationNamed[none](ctx, "child", none{})
		return "both", errors.Join(wantRefused(one), wantRefused(two))
	}, 0)
	want(e, key, "both")
	var refs []string
	for event, err := range client.HandleOf[string](newClient(e), "main", key).History(e.T.Context(), 2) {
		if err != nil {
			e.T.Fatal(err)
		}
		if event.Failure != nil {
			refs = append(refs, fmt.Sprintf("%d %s of %d: %s", event.ID, event.Kind, event.Ref, event.Failure.Message))
		}
	}
	if !slices.Equal(refs, []string{"6 ActivityFailed of 5: refused", "8 ChildFailed of 7: refused"}) {
		e.T.Errorf("failures %q", refs)
	}
	if all := infos.All(); len(all) != 1 || all[0].InstanceID != "main" || all[0].Execution != 2 || all[0].EventID != 5 || all[0].Activity != "fail" {
		e.T.Errorf("the activity saw itself as %+v", all)
	}
	if p := children(e, key)[0].Parent; p.Key != key || p.ID != "main" || p.Execution != 2 || p.EventID != 7 {
		e.T.Errorf("the child's parent is %+v", p)
	}
}

// wantRefused returns nil for the expected failure.
func wantRefused(err error) error {
	if f, ok := errors.AsType[*orchestration.Error](err); ok && f.Message == errRefused.Error() {
		return nil
	}
	return fmt.Errorf("want a refusal, got %w", err)
}

// executionStatuses reads how each execution ended. The next one had begun by then.
func executionStatuses(e *engine) {
	reg := registry(e)
	key := start(e, reg, func(ctx *octx, n int) (none, error) {
		if _, err := orchestration.CallActivity(ctx, Double, n); err != nil {
			return none{}, err
		}
		if n < 3 {
			return none{}, orchestration.ContinueAsNew(ctx, n+1)
		}
		return none{}, errRefused
	}, 1)
	wantStatus(e, key, provider.StatusFailed)
	end := e.Get(key).CreatedAt
	for execution, status := range []provider.Status{provider.StatusContinuedAsNew, provider.StatusContinuedAsNew, provider.StatusFailed} {
		res, err := e.Store.ReadHistory(e.T.Context(), provider.ReadHistoryRequest{Key: key, Execution: int64(execution + 1), From: 1})
		if err != nil || res.Status != status || res.Length != int64(len(res.Events)) {
			e.T.Errorf("execution %d: %v with %d of %d events, %v", execution+1, res.Status, len(res.Events), res.Length, err)
		}
		for _, event := range e.History(key, int64(execution+1)) {
			if event.Body.Kind().IsMessage() {
				if at := provider.Time(event.At); at < end {
					e.T.Errorf("execution %d: %v at %v, after %v", execution+1, event.Body.Kind(), at.Std(), end.Std())
				} else {
					end = at
				}
			}
		}
	}
	if i := e.Get(key); i.EndedAt < end || i.UpdatedAt != i.EndedAt {
		e.T.Errorf("ended at %v, updated at %v, the last event is of %v", i.EndedAt, i.UpdatedAt, end)
	}
}

// times reads an instance every hour.
func times(e *engine) {
	reg := registry(e)
	began := time.Now().UTC()
	key := start(e, reg, func(ctx *octx, _ none) (none, error) {
		return none{}, errors.Join(ctx.Sleep(time.Hour), ctx.Sleep(time.Hour))
	}, none{})
	c := newClient(e)
	for hour := range 3 {
		pass(e, time.Minute)
		d, err := client.HandleOf[none](c, "main", key).Describe(e.T.Context())
		if err != nil {
			e.T.Fatal(err)
		}
		updated, now := began.Add(time.Duration(hour)*time.Hour), time.Now().UTC()
		if !d.CreatedAt.Equal(began) || !d.UpdatedAt.Equal(updated) || !d.AsOf.Equal(now) {
			e.T.Errorf("hour %d: created %v, updated %v, read %v", hour, d.CreatedAt, d.UpdatedAt, d.AsOf)
		}
		over, due := updated, time.Time{}
		if hour < 2 {
			over, due = time.Time{}, updated.Add(time.Hour)
		}
		if !d.EndedAt.Equal(over) || !d.ReadyAt.Equal(due) {
			e.T.Errorf("hour %d: ended %v, ready %v", hour, d.EndedAt, d.ReadyAt)
		}
		pass(e, 59*time.Minute)
	}
}

// typedErrors provokes errors with IDs that read like other errors.
func typedErrors(e *engine) {
	reg := registry(e)
	lie := errors.New("not found: already exists, instance has ended, cancelled, timeout")
	enginetest.Orchestration(e.T, reg, "main", func(*octx, none) (none, error) { return none{}, lie })
	e.Start(reg)
	c, ctx := newClient(e), e.T.Context()
	all := []error{
		client.ErrNotFound, client.ErrExists, client.ErrEnded, client.ErrInvalid, client.ErrTooLarge, client.ErrFailed, client.ErrBlocked,
		client.ErrOutcomeUnknown, orchestration.ErrCancelled, orchestration.ErrTimeout, orchestration.ErrTerminated,
	}
	is := func(what string, err error, want ...error) {
		e.T.Helper()
		for _, target := range all {
			if got := errors.Is(err, target); got != slices.Contains(want, target) {
				e.T.Errorf("%s: %v is %v: %v", what, err, target, got)
			}
		}
	}
	const id = "already exists: instance has ended"
	_, err := c.Describe(ctx, id)
	is("unknown", err, client.ErrNotFound)
	h, err := client.StartNamed[none](ctx, c, "main", none{}, client.WithID(id))
	is("start", err)
	_, err = h.Wait(ctx)
	is("failed", err, client.ErrFailed)
	_, err = client.StartNamed[none](ctx, c, "main", none{}, client.WithID(id))
	is("again", err, client.ErrExists)
	is("ended", h.Raise(ctx, "not found", 1), client.ErrEnded)
	is("invalid", h.Raise(ctx, "", 1), client.ErrInvalid)
	is("large", h.Raise(ctx, "event", make([]byte, 3<<20)), client.ErrTooLarge)
}

// races is the number of repeats of a race.
func races(e *engine) int {
	if e.Virtual {
		return 300
	}
	return 40
}

// race runs two calls at once and returns their errors.
func race(one, two func() error) (errOne, errTwo error) {
	var wg sync.WaitGroup
	begin := make(chan struct{})
	wg.Go(func() { <-begin; errOne = one() })
	wg.Go(func() { <-begin; errTwo = two() })
	close(begin)
	wg.Wait()
	return errOne, errTwo
}

// deleteAgainstStart deletes an ended instance by ID while a new one starts under that ID. The new one survives in
// either order.
func deleteAgainstStart(e *engine) {
	e.Start(registry(e))
	c, ctx := newClient(e), e.T.Context()
	for range races(e) {
		h, err := client.StartNamed[int](ctx, c, "Echo", 1, client.WithID("contested"), client.WithIDPolicy(client.ReplaceEnded))
		if err != nil {
			e.T.Fatal(err)
		}
		if _, err := h.Wait(ctx); err != nil {
			e.T.Fatal(err)
		}
		var again client.Handle[int]
		gone, begun := race(func() error {
			_, err := e.Store.Delete(ctx, provider.DeleteRequest{ID: "contested"})
			return err
		}, func() (err error) {
			again, err = client.StartNamed[int](ctx, c, "nobody's", 2, client.WithID("contested"), client.WithIDPolicy(client.ReplaceEnded))
			return err
		})
		if begun != nil && !errors.Is(begun, client.ErrExists) || gone != nil && !errors.Is(gone, provider.ErrRunning) {
			e.T.Fatalf("start: %v, delete: %v", begun, gone)
		}
		if begun != nil {
			continue // the old one was still being deleted
		}
		if d, err := again.Describe(ctx); err != nil || d.Status != client.StatusRunning || d.Deleting {
			e.T.Fatalf("the new one was taken: %+v, %v; delete: %v", d, err, gone)
		}
		if err := again.Terminate(ctx, ""); err != nil {
			e.T.Fatal(err)
		}
	}
}

// deleteAgainstResume deletes an instance while another call lets it run again: resumed after a suspension, or reset
// after its end.
func deleteAgainstResume(e *engine) {
	ctx := e.T.Context()
	for n := range races(e) {
		key := e.Create(fmt.Sprint("main ", n), "nobody's", none{})
		steer := provider.SteerRequest{Key: key, Action: provider.SteerResume, Commit: enginetest.NewID()}
		if n%2 == 0 {
			e.Steer(key, provider.SteerSuspend)
		} else {
			e.Terminate(key, "enough")
			body := &history.ExecutionStarted{Name: "nobody's"}
			steer.Action, steer.EngineLevel = provider.SteerReset, 1
			steer.Events = [][]byte{history.Encode(nil, history.Event{Body: body})}
		}
		gone, steered := race(func() error {
			_, err := e.Store.Delete(ctx, provider.DeleteRequest{Key: key})
			return err
		}, func() error {
			_, err := e.Store.Steer(ctx, steer)
			return err
		})
		i, there := byID(e, fmt.Sprint("main ", n))
		switch {
		case gone == nil && errors.Is(steered, provider.ErrNotFound) && !there:
		case errors.Is(gone, provider.ErrRunning) && steered == nil && there && i.Status == provider.StatusRunning:
		default:
			e.T.Fatalf("delete: %v, %d: %v, there %v: %+v", gone, steer.Action, steered, there, i)
		}
	}
}
