package simulation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

type (
	octx = orchestration.Context
	none = orchestration.None
)

// These are stored names.
const (
	nameRun   = "run"
	actWork   = "work"
	actFlaky  = "flaky"
	actHang   = "hang"
	actPark   = "park"
	updateAdd = "add"
	queryView = "view"
	eventBox  = "event"
	eventNote = "note"
)

// The steps of a plan.
const (
	doCall   = "call"   // one activity
	doLocal  = "local"  // a local one
	doOnce   = "once"   // one that runs at most once
	doFan    = "fan"    // three at once
	doFlaky  = "flaky"  // one that fails N%3 times
	doPark   = "park"   // one that is ended from outside by its token
	doSleep  = "sleep"  // N seconds
	doTake   = "take"   // the next event
	doWithin = "within" // N seconds for an event that never comes
	doGiveUp = "giveup" // an activity that ends when it is cancelled, after N seconds
	doChild  = "child"  // an instance with a plan of its own
	doNext   = "next"   // continues as new
	doAway   = "away"   // starts an instance that is no child, sends it an event and is told of its end
	doNever  = "never"  // waits until the instance is cancelled or terminated
)

// What a line says of an activity whose outcome is no value.
const (
	noteLost = "lost"
	noteLate = "late"
)

// Step is one thing that code does.
type Step struct {
	Do    string `json:"do"`
	N     int    `json:"n,omitempty"`
	Child *Plan  `json:"child,omitempty"`
}

// Plan is what the code of an instance does. It then waits for all events and updates that clients send.
type Plan struct {
	Steps   []Step `json:"steps,omitempty"`
	Events  int    `json:"events,omitempty"` // that the code takes
	Notes   int    `json:"notes,omitempty"`  // events with a handler
	Updates int    `json:"updates,omitempty"`
}

// Line is what code saw of a step.
type Line struct {
	Step   int    `json:"step"`
	Do     string `json:"do"`
	Note   string `json:"note,omitempty"`
	Values []int  `json:"values,omitempty"` // results of activities
	Child  *State `json:"child,omitempty"`
}

// State is the input of an execution and the output of the last one.
type State struct {
	Name  string // of the instance, in the keys of effects
	Plan  Plan
	At    int // the next step
	Lines []Line
	Got   []int    // events, in their order
	Noted []int    // events with a handler, in their order
	Added []string // updates, in their order
}

// Answer is the outcome of an update.
type Answer struct{ Place, Value int }

// View is the answer of the query.
type View struct {
	Noted []int
	Added []string
}

var errFlaky = errors.New("flaky")

// code is what one node runs.
type code struct {
	world *world
	of    *handle // of the node
}

// register returns what a node of the older or newer release can run.
func (w *world) register(of *handle, newer bool) (*runtime.Registry, error) {
	c := &code{world: w, of: of}
	reg := runtime.NewRegistry()
	err := errors.Join(
		runtime.AddError(reg, "flaky", errFlaky),
		runtime.AddOrchestration(reg, orchestration.Define(nameRun, c.run, orchestration.Version("1"))),
		runtime.AddActivity(reg, activity.Define(actWork, c.work)),
		runtime.AddActivity(reg, activity.Define(actFlaky, c.flaky)),
		runtime.AddActivity(reg, activity.Define(actHang, c.hang)),
		runtime.AddActivity(reg, activity.Define(actPark, c.park)),
	)
	if newer {
		err = errors.Join(err, runtime.AddOrchestration(reg, orchestration.Define(nameRun, c.run, orchestration.Version("2"))))
	}
	return reg, err
}

// run is the orchestration.
func (c *code) run(ctx *octx, st State) (State, error) {
	orchestration.HandleQuery(ctx, queryView, func(none) (View, error) { return View{Noted: st.Noted, Added: st.Added}, nil })
	orchestration.HandleEvent(ctx, eventNote, func(_ *octx, n int) error {
		st.Noted = append(st.Noted, n)
		return nil
	})
	orchestration.HandleUpdate(ctx, updateAdd, func(ctx *octx, id string) (Answer, error) {
		st.Added = append(st.Added, id)
		a := Answer{Place: len(st.Added)}
		var err error
		a.Value, err = orchestration.CallActivityNamed[int](ctx.Detached(), actWork, st.effect("update "+id, 0))
		return a, err
	})
	for st.At < len(st.Plan.Steps) {
		step := st.Plan.Steps[st.At]
		st.At++
		if step.Do == doNext {
			return State{}, orchestration.ContinueAsNewAfterHandlers(ctx, func() State { return st })
		}
		line := Line{Step: st.At, Do: step.Do}
		if err := st.step(ctx, &step, &line); err != nil {
			return State{}, err
		}
		st.Lines = append(st.Lines, line)
	}
	for len(st.Got) < st.Plan.Events {
		if err := st.take(ctx); err != nil {
			return State{}, err
		}
	}
	for len(st.Added) < st.Plan.Updates || len(st.Noted) < st.Plan.Notes {
		if err := ctx.Sleep(3 * time.Second); err != nil {
			return State{}, err
		}
	}
	return st, ctx.AwaitHandlers()
}

// effect names what an activity does.
func (s *State) effect(of string, n int) string { return fmt.Sprintf("%s: %s.%d", s.Name, of, n) }

func (s *State) take(ctx *octx) error {
	n, err := orchestration.Events[int](ctx, eventBox).Receive(ctx)
	if err == nil {
		s.Got = append(s.Got, n)
	}
	return err
}

// step carries out a step. An error ends the instance.
func (s *State) step(ctx *octx, step *Step, line *Line) error {
	effect := func(n int) string { return s.effect(fmt.Sprint("step ", line.Step), n) }
	switch step.Do {
	case doCall, doLocal, doFlaky, doOnce, doPark:
		n, err := s.call(ctx, step, effect(0))
		if step.Do == doOnce && errors.Is(err, orchestration.ErrWorkerLost) {
			line.Note = noteLost
			return nil
		}
		if step.Do == doLocal && errors.Is(err, orchestration.ErrTimeout) { // a local activity has 5 s
			line.Note = noteLate
			return nil
		}
		line.Values = []int{n}
		return err
	case doFan:
		futures := make([]orchestration.Future[int], 3)
		for i := range futures {
			futures[i] = orchestration.StartActivityNamed[int](ctx, actWork, effect(i))
		}
		values, err := orchestration.All(ctx, futures...)
		line.Values = values
		return err
	case doSleep:
		due := ctx.Now().Add(seconds(step.N))
		err := ctx.Sleep(seconds(step.N))
		if err == nil && ctx.Now().Before(due) {
			line.Note = "early"
		}
		return err
	case doTake:
		return s.take(ctx)
	case doWithin:
		_, err := orchestration.Events[int](ctx, "nobody").Receive(ctx, orchestration.Within(seconds(step.N)))
		if errors.Is(err, orchestration.ErrTimeout) {
			return nil
		}
		return errors.Join(err, ctx.Err())
	case doGiveUp:
		f := orchestration.StartActivityNamed[int](ctx, actHang, effect(0))
		if err := ctx.Sleep(seconds(step.N)); err != nil {
			return err
		}
		f.Cancel()
		if _, err := f.Get(ctx); !errors.Is(err, orchestration.ErrCancelled) {
			line.Note = fmt.Sprint("not cancelled: ", err)
		}
		return ctx.Err()
	case doChild:
		return s.child(ctx, step, line)
	case doAway:
		return s.away(ctx, line)
	default:
		_, err := orchestration.Events[int](ctx, "nobody").Receive(ctx)
		return err
	}
}

// call calls one activity.
func (s *State) call(ctx *octx, step *Step, effect string) (int, error) {
	switch step.Do {
	case doLocal:
		return orchestration.CallLocalNamed[int](ctx, actWork, effect)
	case doFlaky:
		return orchestration.CallActivityNamed[int](ctx, actFlaky, Flaky{Effect: effect, Fails: step.N % 3},
			orchestration.WithRetry(orchestration.RetryPolicy{
				MaxAttempts: 3, InitialInterval: 500 * time.Millisecond, Coefficient: 1, Jitter: orchestration.Off,
			}))
	case doPark:
		return orchestration.CallActivityNamed[int](ctx, actPark, effect)
	case doOnce:
		return orchestration.CallActivityNamed[int](ctx, actWork, effect, orchestration.AtMostOnce())
	default:
		return orchestration.CallActivityNamed[int](ctx, actWork, effect)
	}
}

// child starts an instance and waits for it.
func (s *State) child(ctx *octx, step *Step, line *Line) error {
	in := State{Name: fmt.Sprintf("%s.%d", s.Name, line.Step), Plan: *step.Child}
	opts := []orchestration.ChildOption{orchestration.Version("1")}
	if step.N%2 == 1 {
		opts = append(opts, orchestration.WithInstanceID(in.Name))
	}
	out, err := orchestration.CallOrchestrationNamed[State](ctx, nameRun, in, opts...)
	line.Child = &out
	return err
}

// away starts an instance that waits for an event.
func (s *State) away(ctx *octx, line *Line) error {
	in := State{Name: fmt.Sprintf("%s.%d", s.Name, line.Step), Plan: Plan{Events: 1}}
	end := "end of " + in.Name
	there, err := orchestration.StartDetachedNamed(ctx, nameRun, in,
		orchestration.Version("1"), orchestration.WithInstanceID(in.Name), orchestration.TellEnd(end)).Get(ctx)
	if err == nil {
		_, err = there.Raise(ctx, eventBox, 1).Get(ctx)
	}
	if err != nil {
		return err
	}
	told, err := orchestration.Events[orchestration.Ended](ctx, end).Receive(ctx)
	if err == nil && told.Instance != there {
		line.Note = fmt.Sprintf("told of the end of %v", told.Instance)
	}
	return err
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }

// work is an activity with an effect: it takes the next number.
func (c *code) work(ctx context.Context, effect string) (int, error) {
	if err := c.begin(ctx, effect); err != nil {
		return 0, err
	}
	return c.world.take(effect), nil
}

// begin stops an attempt at the gate.
func (c *code) begin(ctx context.Context, effect string) error {
	if err := c.of.run(ctx, effect); err != nil {
		return err
	}
	c.world.begun(effect)
	return nil
}

// Flaky is the input of an activity that fails a few times.
type Flaky struct {
	Effect string
	Fails  int
}

// flaky fails in its first attempts. Attempts that were lost with their node must not count.
func (c *code) flaky(ctx context.Context, in Flaky) (int, error) {
	if err := c.begin(ctx, in.Effect); err != nil {
		return 0, err
	}
	if activity.GetInfo(ctx).Attempt <= in.Fails {
		return 0, errFlaky
	}
	return c.world.take(in.Effect), nil
}

// hang ends when it is cancelled.
func (c *code) hang(ctx context.Context, _ string) (int, error) {
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

// park leaves its end to a client.
func (c *code) park(ctx context.Context, effect string) (int, error) {
	if err := c.begin(ctx, effect); err != nil {
		return 0, err
	}
	c.world.later(effect, activity.Token(ctx), c.world.take(effect))
	return 0, activity.ErrParked
}
