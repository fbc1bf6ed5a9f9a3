// Package signatures has functions without a name and types that JSON cannot store, and clean ones beside them.
package signatures

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

type order struct {
	ID   string
	Done chan bool
}

type sealed struct{ id string }

type report struct {
	Lines []line
}

type line struct {
	Err error
}

func take(_ context.Context, o order) (int, error)    { return 0, nil }
func seal(_ context.Context, o sealed) (int, error)   { return 0, nil }
func list(_ context.Context, _ int) (report, error)   { return report{}, nil }
func many[T any](_ context.Context, _ T) (int, error) { return 0, nil }

func bad(ctx *orchestration.Context, n int) (int, error) {
	_, first := orchestration.CallActivity(ctx, take, order{})                                               // want `orchestration.CallActivity stores order.Done, which JSON cannot store: it is a channel; take it out, or tag the field .json:"-". \(signature\)`
	_, second := orchestration.CallActivity(ctx, seal, sealed{})                                             // want `orchestration.CallActivity stores sealed, which JSON stores as \{\}: it has no exported field; export fields, or give it MarshalJSON and UnmarshalJSON \(signature\)`
	_, third := orchestration.CallActivity(ctx, list, n)                                                     // want `orchestration.CallActivity stores report.Lines\[\].Err, an interface: decoding cannot know which type it held; use a concrete type or any \(signature\)`
	_, fourth := orchestration.CallActivity(ctx, many[int], n)                                               // want `orchestration.CallActivity is given an instance of the generic function many: it has no name that lasts to be stored; give it one with activity.Define \(signature\)`
	_, fifth := orchestration.CallActivity(ctx, many, "inferred")                                            // want `an instance of the generic function many`
	_, sixth := orchestration.CallActivityNamed[func()](ctx, "callback", n)                                  // want `orchestration.CallActivityNamed stores func\(\), which JSON cannot store: it is a function`
	_, last := orchestration.CallActivity(ctx, func(context.Context, int) (int, error) { return 0, nil }, n) // want `orchestration.CallActivity is given a function literal: .* activity.Define \(signature\)`
	return 0, errors.Join(first, second, third, fourth, fifth, sixth, last)
}

func register(reg *runtime.Registry) error {
	return errors.Join(
		runtime.AddOrchestration(reg, func(ctx *orchestration.Context, n int) (int, error) { return n, nil }), // want `runtime.AddOrchestration is given a function literal: .* orchestration.Define \(signature\)`
		runtime.AddActivity(reg, take),         // want `runtime.AddActivity stores order.Done`
		runtime.AddActivities(reg, &service{}), // want `runtime.AddActivities stores order.Done, which JSON cannot store`
		runtime.AddActivities(reg, &service{}, runtime.Prefix("shop."), runtime.Except("Take")),
	)
}

type service struct{ fee int }

func (s *service) Take(_ context.Context, o order) (int, error)     { return s.fee, nil }
func (s *service) Keep(_ context.Context, v stored) (stored, error) { return v, nil }
func (s *service) Close() (chan int, error)                         { return nil, nil } // refused when it is registered

func callsMethods(ctx *orchestration.Context, s *service, v stored) (stored, error) {
	quick := ctx.WithActivityOptions()
	return orchestration.CallActivity(quick, s.Keep, v)
}

type stored struct {
	ID     string
	At     time.Time // it has its own form
	Raw    json.RawMessage
	Any    any
	ByName map[string]*stored
	Hook   func() `json:"-"`
	notes  chan string
}

func keep(_ context.Context, s stored) (stored, error) { return s, nil }

func literal(ctx *orchestration.Context, s stored) (stored, error) { return s, nil }

func clean(ctx *orchestration.Context, s stored) (orchestration.None, error) {
	_, err := orchestration.CallActivity(ctx, keep, s)
	return orchestration.None{}, err
}

func generic[T any](ctx *orchestration.Context, fn func(context.Context, T) (T, error), in T) (T, error) {
	return orchestration.CallActivity(ctx, fn, in)
}

func registerClean(reg *runtime.Registry) error {
	named := orchestration.Define("named", func(ctx *orchestration.Context, n int) (int, error) { return n, nil })
	return errors.Join(runtime.AddOrchestration(reg, literal), runtime.AddOrchestration(reg, named), runtime.AddActivity(reg, keep))
}
