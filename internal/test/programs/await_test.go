package programs

import (
	"errors"
	"fmt"

	"github.com/perdure/perdure/orchestration"
)

// waitForCode runs a statement that waits for what other code does. It returns false for any other statement.
func (t *thread) waitForCode(ctx *octx, s *Statement) bool {
	switch s.Do {
	case doAwait:
		t.takeTurns(ctx, s)
	case doPromise:
		t.promise(ctx, s)
	default:
		return false
	}
	return true
}

// takeTurns lets coroutines wait until nobody is busy. Each is busy with an activity then. The longest wait goes first.
func (t *thread) takeTurns(ctx *octx, s *Statement) {
	busy, turn := false, 0
	guests := make([]orchestration.Future[none], 1+s.N%4)
	seen := make([]string, len(guests))
	for i := range guests {
		var opts []orchestration.ReceiveOption
		if i%2 == 1 {
			opts = append(opts, orchestration.Within(forever))
		}
		guests[i] = ctx.Go(func(ctx *octx) error {
			err := ctx.Await(func() bool { return !busy }, opts...)
			if err == nil {
				busy = true
				_, err = orchestration.CallActivityNamed[int](ctx.Detached(), actEcho, i)
				busy = false
			}
			turn++
			seen[i] = fmt.Sprint(turn, " ", class(err))
			t.w.note(ctx, seen[i])
			return nil
		})
	}
	for _, guest := range guests {
		_, _ = guest.Get(ctx.Detached())
	}
	t.seef(ctx, s, "%v", seen)
	t.noteOrder(ctx)
}

// promise waits for a promise among others. One of them that the race has given up is set later.
func (t *thread) promise(ctx *octx, s *Statement) {
	first, second := orchestration.NewPromise[int](ctx), orchestration.NewPromise[int](ctx)
	setter := ctx.Go(func(ctx *octx) error {
		got, err := orchestration.CallActivityNamed[int](ctx.Detached(), actEcho, s.N)
		if err == nil && s.N%2 == 1 {
			err = errRefused
		}
		if err != nil {
			return first.Fail(err)
		}
		return first.Set(got)
	})
	kept := second.Future()
	got, i, err := orchestration.Race(ctx, second.Future(), first.Future())
	_, bad := setter.Get(ctx.Detached())
	again := first.Set(0)
	bad = errors.Join(bad, second.Set(7))
	late, lost := kept.Get(ctx.Detached())
	t.seef(ctx, s, "%d %d %s, %d, %v %v", i, got, class(err), late, errors.Is(again, orchestration.ErrInvalid), errors.Join(bad, lost))
	t.noteOrder(ctx)
}

// waitForCode: in a dead scope a condition that is true counts all the same.
func (m *model) waitForCode(scope string, s *Statement) bool {
	switch s.Do {
	case doAwait:
		guests := 1 + s.N%4
		seen := make([]string, guests)
		for i := range seen {
			switch {
			case scope == "":
				seen[i] = fmt.Sprint(i+1, " ok")
			case i == 0: // its activity ends last
				seen[i] = fmt.Sprint(guests, " ok")
			default:
				seen[i] = fmt.Sprint(i, " ", scope)
			}
		}
		m.seef(s, "%v", seen)
	case doPromise:
		got, alive := 2*s.N+1, "ok"
		if s.N%2 == 1 {
			got, alive = 0, "refused"
		}
		i := 1
		if scope != "" {
			i = -1
		}
		m.seef(s, "%d %d %s, 7, true <nil>", i, valueOf(scope, got), classOf(scope, alive))
	default:
		return false
	}
	return true
}
