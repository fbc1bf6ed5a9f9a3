package programs

import (
	"fmt"

	"github.com/perdure/perdure/orchestration"
)

// These statements have coroutines that are waited for in every scope, also in a dead one.
const (
	doGroup = "group" // a coroutine of a group for each body; with endless things: the body ends, fails and so cancels them
	doMap   = "map"   // an activity for each of N items; if N%4 is 3, the last item fails
	doLocks = "locks" // coroutines take turns at a mutex, or at a semaphore if N is odd, and one gives up
)

func togetherStatements() []string { return []string{doGroup, doGroup, doMap, doLocks} }

// fillTogether draws the fields of a statement. In a dead scope nothing is endless.
func (g *generator) fillTogether(s *Statement, depth int, dead bool) {
	if s.Do != doGroup {
		return
	}
	if !dead && g.IntN(2) == 0 {
		s.Kinds = g.kinds(3)
		s.Bodies = [][]Statement{g.block(depth, dead)}
		return
	}
	for range 1 + g.IntN(4) {
		s.Bodies = append(s.Bodies, g.block(depth, dead))
	}
}

// together runs a statement of this file. It returns false for any other statement.
func (t *thread) together(ctx *octx, s *Statement) bool {
	switch {
	case s.Do == doMap:
		t.mapped(ctx, s)
	case s.Do == doLocks:
		t.locks(ctx, s)
	case s.Do == doGroup && len(s.Kinds) > 0:
		t.failing(ctx, s)
	case s.Do == doGroup:
		t.group(ctx, s)
	default:
		return false
	}
	t.noteOrder(ctx)
	return true
}

// group runs bodies, some at a time. No error of theirs reaches the group.
func (t *thread) group(ctx *octx, s *Statement) {
	branches, errs := make([]*thread, len(s.Bodies)), make([]error, len(s.Bodies))
	g := orchestration.NewGroup(ctx)
	g.SetLimit(1 + s.N%3)
	for i, body := range s.Bodies {
		branches[i] = &thread{w: t.w}
		g.Go(func(ctx *octx) error {
			errs[i] = branches[i].block(ctx, body)
			return nil
		})
	}
	err := g.Wait()
	for i, branch := range branches {
		t.lines = append(t.lines, branch.lines...)
		t.seef(ctx, s, "%s", class(errs[i]))
	}
	t.seef(ctx, s, "%s", class(err))
}

// failing lets a body end and fail among endless coroutines.
func (t *thread) failing(ctx *octx, s *Statement) {
	branch := &thread{w: t.w}
	g := orchestration.NewGroup(ctx)
	failing := s.N % (len(s.Kinds) + 1)
	for i := range len(s.Kinds) + 1 {
		g.Go(func(ctx *octx) error {
			var err error
			if i != failing {
				err = t.begin(ctx, s.Kinds[i%len(s.Kinds)]).get(ctx)
			} else if err = branch.block(ctx, s.Bodies[0]); err == nil {
				err = &ThrownError{What: fmt.Sprint(s.ID)}
			}
			t.w.note(ctx, class(err))
			return err
		})
	}
	err := g.Wait()
	t.lines = append(t.lines, branch.lines...)
	t.seef(ctx, s, "%s", class(err))
}

// mapped calls an activity for each item.
func (t *thread) mapped(ctx *octx, s *Statement) {
	items := make([]int, s.N)
	for i := range items {
		items[i] = i
	}
	fails := s.N%4 == 3
	got, err := orchestration.Map(ctx, items, 1+s.N%3, func(ctx *octx, i int) (int, error) {
		if fails && i == s.N-1 {
			return 0, &ThrownError{What: fmt.Sprint(s.ID)}
		}
		n, err := orchestration.CallActivityNamed[int](ctx, actEcho, i)
		t.w.note(ctx, fmt.Sprint(n, class(err)))
		return n, err
	})
	sum := 0
	for i, n := range got {
		sum += i * n
	}
	if fails {
		sum = 0 // who knows how many were first
	}
	t.seef(ctx, s, "%d %s", sum, class(err))
}

// locks has coroutines that take turns. One waits in a scope that ends before it is its turn.
func (t *thread) locks(ctx *octx, s *Statement) {
	var mu orchestration.Mutex
	size, acquire := 1, func(ctx *octx, _ int) error { return mu.Lock(ctx) }
	release := func(int) { mu.Unlock() }
	if s.N%2 == 1 {
		sem := orchestration.NewSemaphore(2)
		size, acquire, release = 2, sem.Acquire, sem.Release
	}
	var gaveUp error
	inside, atMost := 0, 0
	scope, cancel := ctx.WithCancel()
	held := acquire(ctx, size)
	waiter := scope.Go(func(ctx *octx) error {
		if gaveUp = acquire(ctx, 1); gaveUp == nil {
			release(1)
		}
		return nil
	})
	g := orchestration.NewGroup(ctx)
	for i := range 2 + s.N%3 {
		g.Go(func(ctx *octx) error {
			if err := acquire(ctx, 1); err != nil {
				return err
			}
			defer release(1)
			inside++
			atMost = max(atMost, inside)
			_, err := callNamed[int](ctx, s, actEcho, i)
			inside--
			t.w.note(ctx, fmt.Sprint(i, class(err)))
			return err
		})
	}
	_, _ = orchestration.CallActivityNamed[int](ctx, actEcho, 0) // some time passes, in which they come to wait
	cancel()
	if held == nil {
		release(size)
	}
	err := g.Wait()
	_, _ = waiter.Get(ctx.Detached())
	t.seef(ctx, s, "%s %s %s %v", class(held), class(gaveUp), class(err), atMost <= size)
}

// together predicts what statements of this file see.
func (m *model) together(scope string, s *Statement) bool {
	switch {
	case s.Do == doMap:
		sum, alive := 0, "ok"
		for i := range s.N {
			sum += i * (2*i + 1)
		}
		if s.N%4 == 3 {
			sum, alive = 0, fmt.Sprint("thrown ", s.ID)
		}
		if s.N == 0 {
			scope = ""
		}
		m.seef(s, "%d %s", valueOf(scope, sum), classOf(scope, alive))
	case s.Do == doLocks:
		m.seef(s, "%s %s %s true", classOf(scope, "ok"), classOf(scope, "cancelled"), classOf(scope, "ok"))
	case s.Do == doGroup && len(s.Kinds) > 0:
		thrown := m.block(scope, s.Bodies[0])
		if thrown == "" {
			thrown = fmt.Sprint(s.ID)
		}
		m.seef(s, "%s", thrownClass(thrown))
	case s.Do == doGroup:
		for _, body := range s.Bodies {
			m.seef(s, "%s", thrownClass(m.block(scope, body)))
		}
		m.seef(s, "ok")
	default:
		return false
	}
	return true
}
