package programs

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/orchestration"
)

// wait runs a statement that waits for time or events, or for nothing. It returns false for any other statement.
func (t *thread) wait(ctx *octx, s *Statement) bool {
	switch s.Do {
	case doSleep:
		t.sleep(ctx, s)
	case doRing:
		box, _ := t.ring(ctx, s)
		got, err := orchestration.Events[int](ctx, box).Receive(ctx, orchestration.Within(forever))
		t.seef(ctx, s, "%d %s", got, class(err))
	case doPoll:
		t.poll(ctx, s)
	case doSelect:
		t.choose(ctx, s)
	case doWithin:
		_, err := orchestration.Events[int](ctx, "never").Receive(ctx, orchestration.Within(t.w.moments(s.N)))
		t.seef(ctx, s, "%s", class(err))
	case doEarly:
		for range s.N {
			got, err := orchestration.Events[int](ctx, "early").Receive(ctx.Detached())
			t.w.early++
			t.seef(ctx, s, "%d %s %v", got, class(err), got == t.w.early)
		}
	case doServed:
		if t.w.late {
			_ = ctx.Detached().AwaitHandlers()
		}
		if s.Local {
			if err := ctx.Detached().Await(func() bool { return t.w.served >= s.N }); err != nil || t.w.served < s.N {
				t.seef(ctx, s, "early %s", class(err))
			}
		}
		for t.w.served < s.N {
			_ = ctx.Detached().Sleep(t.w.moments(4))
		}
		t.seef(ctx, s, "ok")
	case doEffect:
		got, err := orchestration.SideEffect(ctx, func() (Effect, error) {
			if s.N%2 == 1 {
				return Effect{}, errRefused
			}
			return Effect{N: s.N, Noise: t.w.noise()}, nil
		})
		t.w.note(ctx, fmt.Sprint(got.Noise))
		t.seef(ctx, s, "%d %s", got.N, class(err))
	case doPatch:
		if t.w.patched && ctx.Patched(fmt.Sprint("patch ", s.ID)) {
			// The older release sees only from a call that it does not make that it must not go on: it is made in every scope, of
			// an activity of its own.
			_, err := callNamed[int](ctx.Detached(), s, actPatch, s.N)
			t.w.note(ctx, class(err))
		}
		t.seef(ctx, s, "ok")
	case doShow:
		t.show(ctx, s)
	case doOrder:
		t.w.note(ctx, fmt.Sprint(ctx.Rand().Uint64(), ctx.NewUUID()))
		t.noteOrder(ctx)
	default:
		return false
	}
	return true
}

// Effect is the value of a side effect.
type Effect struct{ N, Noise int }

func (w *world) moments(n int) time.Duration { return time.Duration(n) * w.unit }

func (t *thread) sleep(ctx *octx, s *Statement) {
	d := t.w.moments(s.N)
	due := ctx.Now().Add(d)
	err := ctx.Sleep(d)
	t.seef(ctx, s, "%s, early %v", class(err), err == nil && ctx.Now().Before(due))
}

// noteOrder begins a timer that is identified by the order of everything seen so far. A replay in another order would
// request another timer.
func (t *thread) noteOrder(ctx *octx) {
	f := orchestration.StartTimer(ctx, time.Duration(1+t.w.order%100_000)*time.Microsecond)
	f.Cancel()
}

// poll polls for an event until it comes.
func (t *thread) poll(ctx *octx, s *Statement) {
	name, _ := t.ring(ctx, s)
	box := orchestration.Events[int](ctx, name)
	got, ok, err := box.TryReceive()
	for !ok && err == nil {
		if err = ctx.Sleep(t.w.moments(4)); err == nil {
			got, ok, err = box.TryReceive()
		}
	}
	t.seef(ctx, s, "%d %s", got, class(err))
}

// choose selects an event among endless things.
func (t *thread) choose(ctx *octx, s *Statement) {
	box, _ := t.ring(ctx, s)
	events := orchestration.Events[int](ctx, box)
	var cases []orchestration.Awaitable
	var open []endless
	for _, kind := range s.Kinds {
		e := t.begin(ctx, kind)
		open = append(open, e)
		cases = append(cases, e.awaitable)
	}
	i, err := orchestration.Select(ctx, append(cases, events)...)
	got := 0
	if err == nil && i == len(open) {
		got, _, err = events.TryReceive()
	}
	for _, e := range open {
		e.cancel()
	}
	t.seef(ctx, s, "%d %d %s", i, got, class(err))
}
