package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// cargo is what crosses: code that changes it afterwards, or shares it, must not be seen.
type cargo struct {
	List   []int
	Map    map[string]int
	Inner  *cargo
	hidden int
}

func newCargo() *cargo {
	return &cargo{List: []int{1}, Map: map[string]int{"a": 1}, Inner: &cargo{List: []int{2}}, hidden: 3}
}

// spoil changes all that a value shares with others.
func (c *cargo) spoil() {
	c.List[0], c.Map["a"], c.Inner.List[0], c.hidden = 100, 100, 100, 100
}

// check reports an error unless a value arrived as its encoding and nothing else.
func (c *cargo) check(where string) error {
	want := &cargo{List: []int{1}, Map: map[string]int{"a": 1}, Inner: &cargo{List: []int{2}}}
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(cargo{})); diff != "" {
		return fmt.Errorf("%s: %s", where, diff)
	}
	return nil
}

// Only encoded bytes cross, in memory, too. Nobody else sees what a sender changes after the call or
// a reader in its copy. Fields that are not stored never arrive.
func TestHazard34_OnlyBytesCross(t *testing.T) {
	t.Parallel()
	// Each way sends a value, spoils it, and returns what a reader gets, at each call anew.
	ways := map[string]func(ctx *octx, sent *cargo) func() (*cargo, error){
		"activity": func(ctx *octx, sent *cargo) func() (*cargo, error) {
			f := orchestration.StartActivityNamed[*cargo](ctx, "echo", sent)
			sent.spoil()
			return func() (*cargo, error) { return f.Get(ctx) }
		},
		"child": func(ctx *octx, sent *cargo) func() (*cargo, error) {
			f := orchestration.StartOrchestrationNamed[*cargo](ctx, "echo", sent)
			sent.spoil()
			return func() (*cargo, error) { return f.Get(ctx) }
		},
		"side effect": func(ctx *octx, sent *cargo) func() (*cargo, error) {
			got, err := orchestration.SideEffect(ctx, func() (*cargo, error) { return sent, nil })
			sent.spoil()
			return func() (*cargo, error) { return got, err }
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Activity(e.T, reg, "echo", func(_ context.Context, in *cargo) (*cargo, error) {
					return in, in.check("input")
				})
				enginetest.Orchestration(e.T, reg, "echo", func(ctx *octx, in *cargo) (*cargo, error) {
					if err := errors.Join(in.check("input"), ctx.Sleep(time.Second)); err != nil {
						return nil, err
					}
					in.hidden = 5
					return in, in.Inner.checkInner()
				})
				key := start(e, reg, func(ctx *octx, _ none) (none, error) {
					read := way(ctx, newCargo())
					first, err := read()
					if err := errors.Join(err, first.check("first reader")); err != nil {
						return none{}, err
					}
					if name != "side effect" { // which has one reader
						first.spoil()
					}
					second, err := read()
					return none{}, errors.Join(err, second.check("second reader"))
				}, none{})
				enginetest.Output[none](e, key)
			})
		})
	}
}

func (c *cargo) checkInner() error {
	if c == nil || len(c.List) != 1 {
		return errors.New("the inner value is lost")
	}
	return nil
}

// The same holds for what clients send and get, and for what continues as new.
func TestHazard34_OnlyBytesCrossFromClients(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := runtime.NewRegistry()
		main := orchestration.Define("main", func(ctx *octx, in *cargo) (*cargo, error) {
			if err := in.check("input"); err != nil {
				return nil, err
			}
			event, err := orchestration.Events[*cargo](ctx, "box").Receive(ctx)
			if err := errors.Join(err, event.check("event")); err != nil {
				return nil, err
			}
			if ctx.Info().Execution == 1 {
				next := newCargo()
				err := orchestration.ContinueAsNew(ctx, next)
				next.spoil()
				return nil, err
			}
			out := newCargo()
			return out, nil
		})
		if err := runtime.AddOrchestration(reg, main); err != nil {
			e.T.Fatal(err)
		}
		e.Start(reg)
		input := newCargo()
		h, err := client.Start(e.T.Context(), e.Client(client.Options{}), main, input)
		input.spoil()
		if err != nil {
			e.T.Fatal(err)
		}
		for range 2 {
			event := newCargo()
			if err := h.Raise(e.T.Context(), "box", event); err != nil {
				e.T.Fatal(err)
			}
			event.spoil()
		}
		for _, reader := range []string{"first", "second"} {
			got, err := h.Wait(e.T.Context())
			if err := errors.Join(err, got.check(reader)); err != nil {
				e.T.Fatal(err)
			}
			got.spoil()
		}
	})
}

// An activity that changes its result after it has returned does not change it for the orchestration.
func TestHazard34_ActivityThatKeepsItsResult(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var kept enginetest.Notes[*cargo]
		reg := registry(e.T)
		enginetest.Activity(e.T, reg, "keep", func(context.Context, none) (*cargo, error) {
			c := newCargo()
			kept.Add(c)
			return c, nil
		})
		key := start(e, reg, func(ctx *octx, _ none) (none, error) {
			f := orchestration.StartActivityNamed[*cargo](ctx, "keep", none{})
			if err := ctx.Sleep(time.Hour); err != nil {
				return none{}, err
			}
			for _, c := range kept.All() {
				c.spoil()
			}
			got, err := f.Get(ctx)
			return none{}, errors.Join(err, got.check("result"))
		}, none{})
		enginetest.Output[none](e, key)
	})
}
