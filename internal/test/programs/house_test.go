package programs

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/codec"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// These are stored names.
const (
	nameExecute = "execute"
	nameStay    = "stay"
	nameErrand  = "errand"
	actEcho     = "echo"
	actRepeat   = "repeat"
	actFlaky    = "flaky"
	actFinal    = "final"
	actPanic    = "panic"
	actHang     = "hang"
	actDeny     = "deny"
	actPatch    = "patch"
	actRing     = "ring"
	actStop     = "stop"
)

// house is what the code of programs uses outside of the engine.
type house struct {
	c      *client.Client
	newer  *runtime.Registry // of the release that has the patches
	older  *runtime.Registry
	code   map[int]*Program // the code of the instance under 0, that of children under their statements
	unit   time.Duration
	noises atomic.Int64
	steady bool // the same turn makes the same request each time, see package recorded
}

// newHouse makes the code of a program. Its activities reach the store directly, without the faults of the node that
// runs them.
func newHouse(store provider.Provider, p *Program, unit time.Duration, with codec.Codec) (*house, error) {
	h := &house{newer: runtime.NewRegistry(), older: runtime.NewRegistry(), unit: unit, code: make(map[int]*Program)}
	var err error
	h.c, err = client.New(store, client.Options{Errors: h.newer.Errors(), Codec: with, Logger: slog.New(slog.DiscardHandler)})
	h.add(0, p)
	if p.Around {
		err = errors.Join(err, runtime.AddOrchestrationInterceptor(h.newer, newAround), runtime.AddOrchestrationInterceptor(h.older, newAround))
	}
	return h, errors.Join(err, h.register(h.newer, true), h.register(h.older, false))
}

// register adds the code of one release.
func (h *house) register(reg *runtime.Registry, patched bool) error {
	execute := func(ctx *octx, in Input) ([]string, error) { return h.execute(ctx, in, patched) }
	return errors.Join(
		runtime.AddError(reg, "refused", errRefused), runtime.AddError(reg, "final", errFinal),
		runtime.AddErrorType[*ThrownError](reg, "thrown"), runtime.AddErrorType[*DeniedError](reg, "denied"),
		runtime.AddOrchestration(reg, orchestration.Define(nameExecute, execute)),
		runtime.AddOrchestration(reg, orchestration.Define(nameStay, stay)),
		runtime.AddOrchestration(reg, orchestration.Define(nameErrand, errand)),
		runtime.AddActivity(reg, activity.Define(actEcho, paced(h, echo))),
		runtime.AddActivity(reg, activity.Define(actPatch, paced(h, echo))),
		runtime.AddActivity(reg, activity.Define(actRepeat, paced(h, repeat))),
		runtime.AddActivity(reg, activity.Define(actFlaky, paced(h, flaky))),
		runtime.AddActivity(reg, activity.Define(actFinal, paced(h, final))),
		runtime.AddActivity(reg, activity.Define(actPanic, paced(h, panics))),
		runtime.AddActivity(reg, activity.Define(actHang, paced(h, hang))),
		runtime.AddActivity(reg, activity.Define(actDeny, paced(h, deny))),
		runtime.AddActivity(reg, activity.Define(actRing, h.ring)),
		runtime.AddActivity(reg, activity.Define(actStop, h.stop)),
	)
}

// add registers a program and those of its children.
func (h *house) add(id int, p *Program) {
	h.code[id] = p
	for _, round := range p.Rounds {
		h.addChildren(round.Body)
	}
}

func (h *house) addChildren(body []Statement) {
	for _, s := range body {
		if s.Child != nil {
			h.add(s.ID, s.Child)
		}
		for _, body := range s.Bodies {
			h.addChildren(body)
		}
	}
}

func (h *house) noise() int {
	if h.steady {
		return 0
	}
	return int(h.noises.Add(1))
}

// jitter returns that of all retry policies; 0: the default.
func (h *house) jitter() float64 {
	if h.steady {
		return orchestration.Off
	}
	return 0
}

// paced returns an activity whose local attempts end at moments of their own if the house is steady. So they always end in the same order.
func paced[In, Out any](h *house, fn func(context.Context, In) (Out, error)) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, in In) (Out, error) {
		if info := activity.GetInfo(ctx); h.steady && info.Local {
			sum := fnv.New32a()
			_, _ = fmt.Fprint(sum, activity.IdempotencyKey(ctx), info.Attempt) // a hash takes all
			defer pause(context.WithoutCancel(ctx), time.Duration(1+sum.Sum32()%50_000)*time.Microsecond)
		}
		return fn(ctx, in)
	}
}

// stay is a child that runs until it is cancelled, and then cleans up.
func stay(ctx *octx, _ none) (int, error) {
	err := ctx.Sleep(forever)
	if _, failed := orchestration.CallActivityNamed[int](ctx.Detached(), actEcho, 1); failed != nil {
		return 0, failed
	}
	return 0, err
}

func echo(_ context.Context, n int) (int, error) { return 2*n + 1, nil }

func repeat(_ context.Context, s string) (string, error) { return s + s, nil }

// flaky fails for the given number of attempts. Attempts that were lost with their node must not count.
func flaky(ctx context.Context, fails int) (int, error) {
	n := activity.GetInfo(ctx).Attempt
	if n <= fails {
		return 0, errRefused
	}
	return n, nil
}

func final(context.Context, none) (int, error) { return 0, orchestration.NonRetryable(errFinal) }

func panics(context.Context, none) (int, error) { panic("on purpose") }

func hang(ctx context.Context, _ none) (int, error) {
	<-ctx.Done()
	return 0, context.Cause(ctx)
}

func deny(_ context.Context, code int) (int, error) { return 0, &DeniedError{Code: code} }

// Ring requests an event.
type Ring struct {
	ID, Key, Box string
	Value        int
	Request      string
}

// ring raises an event, at least once.
func (h *house) ring(ctx context.Context, r Ring) (none, error) {
	var key provider.UUID
	if err := key.UnmarshalText([]byte(r.Key)); err != nil {
		return none{}, err
	}
	err := client.HandleOf[none](h.c, r.ID, key).Raise(ctx, r.Box, r.Value, client.WithRequestID(r.Request))
	return none{}, err
}

// stop cancels an instance.
func (h *house) stop(ctx context.Context, text string) (none, error) {
	var key provider.UUID
	if err := key.UnmarshalText([]byte(text)); err != nil {
		return none{}, err
	}
	return none{}, client.HandleOf[none](h.c, "", key).Cancel(ctx, "as the program says")
}
