package programs

import (
	"fmt"

	"github.com/perdure/perdure/orchestration"
)

// endless is a future or a coroutine that never ends by itself.
type endless struct {
	awaitable orchestration.Awaitable
	get       func(*octx) error
	cancel    func()
}

func endlessFuture[T any](f orchestration.Future[T]) endless {
	return endless{awaitable: f, cancel: f.Cancel, get: func(ctx *octx) error {
		_, err := f.Get(ctx)
		return err
	}}
}

// begin begins something endless. The options are those of an activity or a child.
func (t *thread) begin(ctx *octx, kind string, opts ...orchestration.CancellationOption) endless {
	switch kind {
	case hangs:
		return endlessFuture(orchestration.StartActivityNamed[int](ctx, actHang, none{}, activityOptions(opts)...))
	case sleeps:
		return endlessFuture(orchestration.StartTimer(ctx, forever))
	case stays:
		return endlessFuture(orchestration.StartOrchestrationNamed[int](ctx, nameStay, none{}, childOptions(opts)...))
	default:
		return endlessFuture(ctx.Go(func(ctx *octx) error {
			_, err := orchestration.Events[int](ctx, "never").Receive(ctx)
			t.w.note(ctx, class(err))
			return err
		}))
	}
}

func (t *thread) beginAll(ctx *octx, kinds []string) []endless {
	open := make([]endless, len(kinds))
	for i, kind := range kinds {
		open[i] = t.begin(ctx, kind)
	}
	return open
}

// compete runs a statement that cancels something, or children that compete. It returns false for any other statement.
func (t *thread) compete(ctx *octx, s *Statement) bool {
	switch s.Do {
	case doGiveUp:
		// The call ends the same whatever the activity or child does.
		opts := []orchestration.CancellationOption{orchestration.WithCancellation(orchestration.Cancellation(s.N / 2 % 3))}
		if s.Kinds[0] == stays && s.Family == 0 {
			opts = nil
		}
		e := t.begin(ctx, s.Kinds[0], opts...)
		if s.N%2 == 1 {
			_, _ = orchestration.CallActivityNamed[int](ctx, actEcho, 0) // some time passes
		}
		e.cancel()
		t.seef(ctx, s, "%s", class(e.get(ctx)))
	case doRace:
		t.race(ctx, s)
	case doRush:
		t.rush(ctx, s)
	case doChild:
		t.await(ctx, s, t.child(ctx, s, s.N%3 == 0))
	case doTwice:
		first, second := t.child(ctx, s, true), t.child(ctx, s, true)
		t.await(ctx, s, first)
		_, err := second.Get(ctx)
		t.seef(ctx, s, "%s", class(err))
	case doAway:
		t.away(ctx, s)
	default:
		return false
	}
	return true
}

// race lets an activity win against endless activities and children.
func (t *thread) race(ctx *octx, s *Statement) {
	var futures []orchestration.Future[int]
	winner := s.N % (len(s.Kinds) + 1)
	for i := range len(s.Kinds) + 1 {
		switch {
		case i == winner:
			futures = append(futures, orchestration.StartActivityNamed[int](ctx, actEcho, s.N))
		case s.Kinds[i%len(s.Kinds)] == hangs:
			futures = append(futures, orchestration.StartActivityNamed[int](ctx, actHang, none{}))
		default:
			futures = append(futures, orchestration.StartOrchestrationNamed[int](ctx, nameStay, none{}))
		}
	}
	got, i, err := orchestration.Race(ctx, futures...)
	t.seef(ctx, s, "%d %d %s", i, got, class(err))
	t.noteOrder(ctx)
}

// rush lets a coroutine that runs a body win against endless coroutines.
func (t *thread) rush(ctx *octx, s *Statement) {
	var futures []orchestration.Future[none]
	branch := &thread{w: t.w}
	winner := s.N % (len(s.Kinds) + 1)
	for i := range len(s.Kinds) + 1 {
		futures = append(futures, ctx.Go(func(ctx *octx) error {
			if i == winner {
				return branch.block(ctx, s.Bodies[0])
			}
			err := t.begin(ctx, s.Kinds[i%len(s.Kinds)]).get(ctx)
			t.w.note(ctx, class(err))
			return err
		}))
	}
	_, i, err := orchestration.Race(ctx, futures...)
	t.lines = append(t.lines, branch.lines...)
	t.seef(ctx, s, "%d %s", i, class(err))
	t.noteOrder(ctx)
}

// child starts a child that runs a program.
func (t *thread) child(ctx *octx, s *Statement, named bool) orchestration.Future[[]string] {
	var opts []orchestration.ChildOption
	if named {
		opts = append(opts, orchestration.WithInstanceID(fmt.Sprintf("%s.%d.%d", ctx.Info().ID, s.ID, t.w.runs[s.ID])))
	}
	if s.Family == 0 {
		return orchestration.StartOrchestrationNamed[[]string](ctx, nameExecute, Input{Code: s.ID}, opts...)
	}
	opts = append(opts, orchestration.WithAttribute("statement", s.ID), orchestration.WithCancellation(orchestration.Cancellation(s.Family%3)))
	if s.Family%5 == 0 {
		opts = append(opts, orchestration.WithClosePolicy(orchestration.CloseAbandon))
	}
	if s.Family%2 == 0 {
		return orchestration.StartOrchestrationNamed[[]string](ctx, nameExecute, Input{Code: s.ID}, opts...)
	}
	child := orchestration.StartChildNamed[[]string](ctx, nameExecute, Input{Code: s.ID}, opts...)
	if _, err := child.Started.Get(ctx); err == nil { // the end says the same of one that has not begun
		t.w.note(ctx, "begun")
	}
	return child.Future
}

func activityOptions(opts []orchestration.CancellationOption) (all []orchestration.ActivityOption) {
	for _, opt := range opts {
		all = append(all, opt)
	}
	return all
}

func childOptions(opts []orchestration.CancellationOption) (all []orchestration.ChildOption) {
	for _, opt := range opts {
		all = append(all, opt)
	}
	return all
}

// await takes over what a child saw, even if it failed.
func (t *thread) await(ctx *octx, s *Statement, f orchestration.Future[[]string]) {
	lines, err := f.Get(ctx)
	if thrown, ok := thrownBy(err); ok {
		lines = thrown.Lines
	}
	t.lines = append(t.lines, lines...)
	t.seef(ctx, s, "%s", class(err))
}
