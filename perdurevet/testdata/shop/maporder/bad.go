// Package maporder has loops over maps that lead to calls of the engine, and clean ones beside them.
package maporder

import (
	"context"
	"maps"
	"slices"

	"github.com/perdure/perdure/orchestration"
)

func ship(_ context.Context, item string) (string, error) { return item, nil }

func calls(ctx *orchestration.Context, items map[string]int) (int, error) {
	for item := range items { // want `range over a map calls orchestration.CallActivity: each replay has another order; range over slices.Sorted\(maps.Keys\(m\)\) \(maporder\)`
		if _, err := orchestration.CallActivity(ctx, ship, item); err != nil {
			return 0, err
		}
	}
	for item := range maps.Keys(items) { // want `range over a map calls one`
		if err := one(ctx, item); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func one(ctx *orchestration.Context, item string) error {
	_, err := orchestration.CallActivity(ctx, ship, item)
	return err
}

func waits(ctx *orchestration.Context, items map[string]orchestration.Future[string]) (int, error) {
	for _, f := range items { // want `range over a map calls Future.Get`
		if _, err := f.Get(ctx); err != nil {
			return 0, err
		}
	}
	for _, f := range items { // want `range over a map calls Future.Cancel`
		f.Cancel()
	}
	return 0, nil
}

func together(ctx *orchestration.Context, items map[string]int) error {
	var saga orchestration.Saga
	g, sem := orchestration.NewGroup(ctx), orchestration.NewSemaphore(5)
	for item := range items { // want `range over a map calls Group.Go`
		g.Go(func(ctx *orchestration.Context) error { return one(ctx, item) })
	}
	for item := range items { // want `range over a map calls Saga.Undo`
		saga.Undo(func(ctx *orchestration.Context) error { return one(ctx, item) })
	}
	for _, n := range items { // want `range over a map calls Semaphore.Release`
		sem.Release(n)
	}
	return g.Wait()
}

func closures(ctx *orchestration.Context, items map[string]int) (int, error) {
	send := func(item string) error { return one(ctx, item) }
	for item := range items { // want `range over a map calls send`
		if err := send(item); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

type saga struct {
	ctx *orchestration.Context
}

func (s *saga) undo(item string) error { return one(s.ctx, item) }

func undoes(ctx *orchestration.Context, items map[string]int) (int, error) {
	s := &saga{ctx}
	for item := range items { // want `range over a map calls saga.undo`
		if err := s.undo(item); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func builds(ctx *orchestration.Context, items map[string]int) (int, error) {
	var names []string
	for item := range items { // want `the order of a map decides how orchestration.CallActivity is called \(bad.go:\d+\): each replay has another one; sort names first, or range over slices.Sorted\(maps.Keys\(m\)\) \(maporder\)`
		names = append(names, item)
	}
	for _, name := range names {
		if _, err := orchestration.CallActivity(ctx, ship, name); err != nil {
			return 0, err
		}
	}
	keys := slices.Collect(maps.Keys(items)) // want `the order of a map decides how orchestration.CallActivity is called`
	for i := 0; i < len(keys); i++ {
		if _, err := orchestration.CallActivity(ctx, ship, keys[i]); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func races(ctx *orchestration.Context, offers map[string]orchestration.Future[string]) (string, error) {
	var all []orchestration.Future[string]
	for _, f := range offers { // want `the order of a map decides how orchestration.Race is called`
		all = append(all, f)
	}
	first, _, err := orchestration.Race(ctx, all...)
	return first, err
}
