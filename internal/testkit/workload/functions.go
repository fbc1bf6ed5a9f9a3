package workload

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Load is the input of orchestrations and activities.
type Load struct {
	N     int // count
	Bytes int `json:",omitempty"` // size of each reply; 0: about 50 bytes of JSON
}

// Reply is the output of activities and the payload of events.
type Reply struct{ Text string }

func reply(size int) Reply {
	if size == 0 {
		return Reply{Text: "forty characters make fifty bytes of JSON"}
	}
	return Reply{Text: strings.Repeat("x", size)}
}

// Noop is an activity that does nothing.
func Noop(_ context.Context, l Load) (Reply, error) { return reply(l.Bytes), nil }

// Chain calls activities in sequence.
func Chain(ctx *orchestration.Context, l Load) (int, error) {
	for i := range l.N {
		if _, err := orchestration.CallActivity(ctx, Noop, Load{N: i, Bytes: l.Bytes}); err != nil {
			return 0, err
		}
	}
	return l.N, nil
}

// Fan calls activities in parallel and joins them.
func Fan(ctx *orchestration.Context, l Load) (int, error) {
	futures := make([]orchestration.Future[Reply], l.N)
	for i := range futures {
		futures[i] = orchestration.StartActivity(ctx, Noop, Load{N: i, Bytes: l.Bytes})
	}
	_, err := orchestration.All(ctx, futures...)
	return l.N, err
}

// Rest says how long to sleep, and has a payload.
type Rest struct {
	For   time.Duration
	Until time.Time `json:",omitzero"` // instead of For
	Text  string    `json:",omitempty"`
}

// Nap sleeps and returns how late its code continued after the due time of the timer. The due time is by the
// storage's clock, the other by this machine's. The outcome is stored but never compared, so reading the clock does
// no harm here.
func Nap(ctx *orchestration.Context, r Rest) (late time.Duration, err error) {
	if !r.Until.IsZero() {
		r.For = r.Until.Sub(ctx.Now())
	}
	due := ctx.Now().Add(r.For)
	if err := ctx.Sleep(r.For); err != nil {
		return 0, err
	}
	return time.Since(due), nil //perdure:ok the outcome is stored and never compared
}

// mailbox is the name of the events that Gather receives.
const mailbox = "event"

// Gather receives n events and ends.
func Gather(ctx *orchestration.Context, n int) (int, error) {
	events := orchestration.Events[Reply](ctx, mailbox)
	for range n {
		if _, err := events.Receive(ctx); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// Register adds all functions to a registry.
func Register(reg *runtime.Registry) error {
	return errors.Join(
		runtime.AddOrchestration(reg, Chain), runtime.AddOrchestration(reg, Fan),
		runtime.AddOrchestration(reg, Nap), runtime.AddOrchestration(reg, Gather), runtime.AddActivity(reg, Noop),
	)
}
