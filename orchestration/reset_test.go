package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// opened is what the code of kept has come to.
type opened struct {
	Activity, Ended, Local, Child, Later int
	Event                                string
	Failed                               bool
}

// kept waits for one operation of each kind at once, and takes them one after the other. It has cancelled one activity.
func kept(ctx *octx, _ none) (opened, error) {
	var out opened
	var all []error
	take := func(err error) { all = append(all, err) }
	waits := orchestration.StartActivityNamed[int](ctx, "act", -1, orchestration.WithCancellation(orchestration.WaitForEnd))
	a := orchestration.StartActivityNamed[int](ctx, "act", 20)
	c := orchestration.StartOrchestrationNamed[int](ctx, "child", 3)
	t := orchestration.StartTimer(ctx, 20*time.Millisecond)
	l := orchestration.StartLocalNamed[int](ctx, "act", 7)
	var err error
	out.Event, err = orchestration.Events[string](ctx, "go").Receive(ctx)
	take(err)
	waits.Cancel()
	_, err = waits.Get(ctx)
	out.Failed = errors.Is(err, orchestration.ErrCancelled)
	out.Local, err = l.Get(ctx)
	take(err)
	out.Activity, err = a.Get(ctx)
	take(err)
	out.Child, err = c.Get(ctx)
	take(err)
	_, err = t.Get(ctx)
	take(err)
	out.Later, err = orchestration.CallActivityNamed[int](ctx, "act", 1)
	take(err)
	return out, errors.Join(all...)
}

func (o opened) check(e *enginetest.Engine, err error) {
	e.T.Helper()
	if want := (opened{Activity: 40, Local: 14, Child: 3, Later: 2, Event: "now", Failed: true}); err != nil || o != want {
		e.T.Errorf("it ended with %+v, %v; want %+v", o, err, want)
	}
}

// startNode starts a node with the code of these tests.
func startNode(e *enginetest.Engine) *client.Client {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "kept", kept)
	enginetest.Orchestration(e.T, reg, "drawing", drawing)
	enginetest.Orchestration(e.T, reg, "showing", showing)
	enginetest.Orchestration(e.T, reg, "collect", collect)
	enginetest.Orchestration(e.T, reg, "parent", parent)
	enginetest.Orchestration(e.T, reg, "child", func(ctx *octx, n int) (int, error) {
		return n, ctx.Sleep(time.Duration(n) * time.Millisecond)
	})
	enginetest.Activity(e.T, reg, "act", func(ctx context.Context, n int) (int, error) {
		if n < 0 { // runs until it is cancelled
			<-ctx.Done()
			return 0, context.Cause(ctx)
		}
		return 2 * n, nil
	})
	e.Start(reg)
	return e.Client(client.Options{})
}

func startOf[Out any](e *enginetest.Engine, c *client.Client, name, id string, in any, opts ...client.StartOption) client.Handle[Out] {
	e.T.Helper()
	h, err := client.StartNamed[Out](e.T.Context(), c, name, in, append(opts, client.WithID(id))...)
	if err != nil {
		e.T.Fatal(err)
	}
	return h
}

// ended returns how an instance ends. One that waits for what never comes fails the test soon.
func ended[Out any](e *enginetest.Engine, h client.Handle[Out]) (Out, error) {
	e.T.Helper()
	limit := time.Minute // an activity may learn of its cancellation after a third of its lease
	if e.Virtual {
		limit = 24 * time.Hour
	}
	ctx, cancel := context.WithTimeout(e.T.Context(), limit)
	defer cancel()
	out, err := h.Wait(ctx)
	if ctx.Err() != nil {
		e.T.Fatalf("%s does not end: %v", h.ID(), err)
	}
	return out, err
}

// events returns the current history of an instance.
func events[T any](e *enginetest.Engine, h client.Handle[T]) []history.Event {
	e.T.Helper()
	return e.History(h.Key(), e.Get(h.Key()).Execution)
}

func reset[T any](e *enginetest.Engine, h client.Handle[T], at int64, opts ...client.ResetOption) {
	e.T.Helper()
	before := e.Get(h.Key()).Execution
	execution, err := client.Reset(e.T.Context(), h, at, opts...)
	if err != nil || execution != before+1 {
		e.T.Fatalf("reset of %s to event %d: execution %d, %v", h.ID(), at, execution, err)
	}
}

// A reset at every event of a history with each kind of operation pending ends as the run that was never reset. So does a
// second one. Where no execution can open, the refusal names the nearest events, and nothing is stored.
func TestHazard57_ResetAtEveryEvent(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c := startNode(e)
		points := 0
		for at := int64(1); ; at++ {
			h := startOf[opened](e, c, "kept", fmt.Sprint("kept-", at), none{})
			e.Until("it waits", func() bool { return e.Get(h.Key()).HistoryLength >= 5 })
			e.Raise(h.Key(), "go", "now")
			got, err := ended(e, h)
			got.check(e, err)
			all := events(e, h)
			if at > int64(len(all)) {
				break
			}
			if !all[at-1].Body.Kind().IsMessage() {
				_, err := client.Reset(e.T.Context(), h, at)
				if !errors.Is(err, client.ErrBadPoint) || !strings.Contains(err.Error(), "use event") || e.Get(h.Key()).Execution != 1 {
					e.T.Errorf("at the %v of event %d: %v", all[at-1].Body.Kind(), at, err)
				}
				continue
			}
			points++
			for range 2 {
				reset(e, h, min(at, e.Get(h.Key()).HistoryLength))
				got, err = ended(e, h)
				got.check(e, err)
			}
			enginetest.Replays(e, h)
		}
		if points < 6 {
			e.T.Errorf("%d points only", points)
		}
	})
}

// parent waits for a child that runs until it gets an event, then for an event of its own.
func parent(ctx *octx, id string) (int, error) {
	var opts []orchestration.ChildOption
	if id != "" {
		opts = append(opts, orchestration.WithInstanceID(id))
	}
	n, err := orchestration.CallOrchestrationNamed[int](ctx, "collect", none{}, opts...)
	if err != nil {
		return -1, err
	}
	_, err = orchestration.Events[int](ctx, "end").Receive(ctx)
	return n, err
}

// collect returns the sum of its items. Each of them is in its status.
func collect(ctx *octx, _ none) (int, error) {
	sum := 0
	for {
		n, err := orchestration.Events[int](ctx, "item").Receive(ctx)
		if err != nil || n == 0 {
			return sum, err
		}
		sum = 10*sum + n
		ctx.SetStatus(sum)
	}
}

func child(e *enginetest.Engine, id string) client.Handle[int] {
	e.T.Helper()
	var h client.Handle[int]
	e.Until("the child is there", func() bool {
		var err error
		h, err = client.Lookup[int](e.T.Context(), e.Client(client.Options{}), id)
		return err == nil
	})
	return h
}

// A child that runs at the point goes on and tells the new execution, although its own history names the old one.
func TestHazard57_ChildrenMoveToTheNewExecution(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c := startNode(e)
		h := startOf[int](e, c, "parent", "parent", "kid")
		k := child(e, "kid")
		e.Raise(k.Key(), "item", 4)
		e.Until("the child has its item", func() bool { return len(e.Get(k.Key()).CustomStatus) > 0 })
		reset(e, h, 3) // one past its last event
		if got := e.Get(k.Key()).Parent.Execution; got != 2 {
			e.T.Errorf("the parent of the child is execution %d", got)
		}
		e.Raise(k.Key(), "item", 2)
		e.Raise(k.Key(), "item", 0)
		e.Raise(h.Key(), "end", 1)
		if got, err := ended(e, h); got != 42 || err != nil {
			e.T.Errorf("%d, %v", got, err)
		}
		// Its outcome is in the part that is taken back.
		reset(e, h, 3)
		if got, err := ended(e, h); got != 42 || err != nil {
			e.T.Errorf("after the second reset: %d, %v", got, err)
		}
	})
}

// A child that ended together with its parent told nobody. Its row has the outcome.
func TestHazard57_OutcomesOfChildrenAreFound(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		c := startNode(e)
		h := startOf[int](e, c, "parent", "parent", "kid")
		k := child(e, "kid")
		e.Terminate(h.Key(), "by mistake")
		if i := e.WaitEnded(k.Key()); i.Status != provider.StatusCancelled {
			e.T.Fatalf("the child is %v", i.Status)
		}
		reset(e, h, 3)
		if _, err := ended(e, h); !errors.Is(err, orchestration.ErrCancelled) {
			e.T.Errorf("the parent of a cancelled child: %v", err)
		}
		h = startOf[int](e, c, "parent", "bereaved", "lost")
		k = child(e, "lost")
		e.Terminate(h.Key(), "by mistake")
		e.WaitEnded(k.Key())
		if _, err := e.Store.Delete(e.T.Context(), provider.DeleteRequest{Key: k.Key()}); err != nil {
			e.T.Fatal(err)
		}
		reset(e, h, 3)
		if _, err := ended(e, h); !errors.Is(err, orchestration.ErrTerminated) {
			e.T.Errorf("the parent of a deleted child: %v", err)
		}
	})
}

// A child that has told its outcome may be deleted. The part that is taken back has the outcome.
func TestHazard57_OutcomesOfDeletedChildrenAreKept(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		c := startNode(e)
		h := startOf[int](e, c, "parent", "parent", "kid")
		k := child(e, "kid")
		for _, n := range []int{4, 2, 0} {
			e.Raise(k.Key(), "item", n)
		}
		e.Raise(h.Key(), "end", 1)
		if got, err := ended(e, h); got != 42 || err != nil {
			e.T.Fatalf("%d, %v", got, err)
		}
		if _, err := e.Store.Delete(e.T.Context(), provider.DeleteRequest{Key: k.Key()}); err != nil {
			e.T.Fatal(err)
		}
		reset(e, h, 3)
		if got, err := ended(e, h); got != 42 || err != nil {
			e.T.Errorf("after the reset: %d, %v", got, err)
		}
	})
}

// Children of the part that is taken back are asked to stop.
func TestHazard57_LaterChildrenStop(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		c := startNode(e)
		h := startOf[int](e, c, "parent", "parent", "")
		e.Until("it waits", func() bool { return e.Get(h.Key()).HistoryLength == 2 })
		started := events(e, h)[1].Body.(*history.ChildStarted)
		reset(e, h, 1)
		if i := e.WaitEnded(started.Key); i.Status != provider.StatusCancelled {
			e.T.Errorf("the child of the old execution is %v", i.Status)
		}
		e.Until("it waits", func() bool { return e.Get(h.Key()).HistoryLength == 4 }) // ForkPoint and ExecutionOpened came before
		again := events(e, h)[3].Body.(*history.ChildStarted)
		e.Raise(again.Key, "item", 5)
		e.Raise(again.Key, "item", 0)
		e.Raise(h.Key(), "end", 1)
		if got, err := ended(e, h); got != 5 || err != nil {
			e.T.Errorf("%d, %v", got, err)
		}
	})
}

// A fork has its own tasks and timers, but not the children of its origin.
func TestHazard57_ForksHaveNoChildrenOfTheirOrigin(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c := startNode(e)
		h := startOf[int](e, c, "parent", "parent", "kid")
		k := child(e, "kid")
		e.Until("it waits", func() bool { return e.Get(h.Key()).HistoryLength == 2 })
		f, err := client.Fork(e.T.Context(), h, 3, "fork")
		if err != nil {
			e.T.Fatal(err)
		}
		if _, err := ended(e, f); !errors.Is(err, orchestration.ErrForked) {
			e.T.Errorf("the fork ended with %v, want ErrForked", err)
		}
		if _, err := client.Fork(e.T.Context(), h, 3, "fork"); !errors.Is(err, client.ErrExists) {
			e.T.Errorf("a second fork under the ID: %v", err)
		}
		e.Raise(k.Key(), "item", 0)
		e.Raise(h.Key(), "end", 1)
		if _, err := ended(e, h); err != nil {
			e.T.Errorf("the origin: %v", err)
		}
		o := startOf[opened](e, c, "kept", "kept", none{})
		e.Raise(o.Key(), "go", "now")
		if _, err := ended(e, o); err != nil {
			e.T.Fatal(err)
		}
		at := e.Get(o.Key()).HistoryLength - 1 // the result of the last activity: the child has ended before
		g, err := client.Fork(e.T.Context(), o, at, "kept-fork")
		if err != nil {
			e.T.Fatal(err)
		}
		got, err := ended(e, g)
		got.check(e, err)
		if i := e.Get(g.Key()); i.Execution != 1 || i.ID != "kept-fork" || i.EngineLevel < 8 {
			e.T.Errorf("%+v", i)
		}
		enginetest.Replays(e, g)
	})
}
