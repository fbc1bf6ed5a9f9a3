package programs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
)

// These are stored names: of an update and of an event with a handler.
const (
	updateAdd = "add"
	eventNote = "note"
)

// serve registers handlers. They count when they begin, since the code may continue as new while they run. If it waits for them, they
// count when they end.
func (t *thread) serve(ctx *octx) {
	begin := func(ctx *octx, what string, n int) (int, error) {
		if !t.w.late {
			t.w.served++
		}
		t.w.note(ctx, fmt.Sprint(what, n))
		got, err := orchestration.CallActivityNamed[int](ctx.Detached(), actEcho, n)
		if t.w.late {
			t.w.served++
		}
		t.w.note(ctx, class(err))
		return got, err
	}
	orchestration.HandleUpdate(ctx, updateAdd, func(ctx *octx, n int) (int, error) { return begin(ctx, updateAdd, n) })
	orchestration.HandleEvent(ctx, eventNote, func(ctx *octx, n int) error {
		_, err := begin(ctx, eventNote, n)
		return err
	})
}

// callAll sends what the program serves, in any order and at any time, some of it twice. Every third is an event.
func (r *run) callAll(ctx context.Context, h client.Handle[[]string], p Program, chance *rand.Rand) error {
	ends := predict(p).Class == "ok"
	wrong := make([]error, p.Served)
	var calls sync.WaitGroup
	for i := range p.Served {
		again := 1 + chance.IntN(2)
		if i%3 == 2 {
			for range again {
				_ = h.Raise(ctx, eventNote, i, client.WithRequestID(fmt.Sprint("note ", i)))
			}
		} else {
			calls.Go(func() { wrong[i] = r.update(ctx, h, p, i, again, ends) })
		}
		if !pause(ctx, time.Duration(chance.IntN(6))*r.moment) {
			break
		}
	}
	calls.Wait()
	return errors.Join(wrong...)
}

// callAgain makes the updates again that a reset has discarded, also those whose callers have their outcome.
func (r *run) callAgain(ctx context.Context, h client.Handle[[]string], p Program) error {
	ends := predict(p).Class == "ok"
	var calls sync.WaitGroup
	wrong := make([]error, p.Served)
	for i := range p.Served {
		if i%3 < 2 {
			calls.Go(func() { wrong[i] = r.update(ctx, h, p, i, 1, ends) })
		}
	}
	calls.Wait()
	return errors.Join(wrong...)
}

// update makes an update, perhaps again with the same ID. Only a program that throws may end without it.
func (r *run) update(ctx context.Context, h client.Handle[[]string], p Program, n, again int, ends bool) error {
	id := fmt.Sprint("add ", n)
	for range again {
		got, err := client.Update[int](ctx, h, updateAdd, n, client.WithUpdateID(id))
		for ; errors.Is(err, client.ErrDiscarded); got, err = client.Update[int](ctx, h, updateAdd, n, client.WithUpdateID(id)) {
			id += " again"
		}
		late := errors.Is(err, client.ErrEnded) || errors.Is(err, client.ErrClosing)
		switch {
		case (err == nil || errors.Is(err, client.ErrNotCarried) && !p.Late) && got == 2*n+1:
			r.sum.updates.Add(1)
		case !ends && late, ctx.Err() != nil:
			return nil //nolint:nilerr // the program threw, or the run is over
		default:
			return fmt.Errorf("update %d: got %d, %w", n, got, err)
		}
	}
	return nil
}
