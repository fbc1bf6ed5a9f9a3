package orchestration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestHazard123_Map(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code script
		want []string
	}{
		"order of the items": {func(ctx *octx, note func(string, ...any)) error {
			out, err := orchestration.Map(ctx, []int{4, 1, 2}, 2, func(ctx *octx, hours int) (string, error) {
				err := ctx.Sleep(time.Duration(hours) * time.Hour)
				note("%d", hours)
				return fmt.Sprint(hours, "!"), err
			})
			note("%q", out)
			return err
		}, []string{"1h 1", "3h 2", "4h 4", `4h ["4!" "1!" "2!"]`, "ok"}},
		"the first error": {func(ctx *octx, note func(string, ...any)) error {
			out, err := orchestration.Map(ctx, []int{1, 9, 2, 3, 4}, 3, func(ctx *octx, hours int) (int, error) {
				note("%d begins", hours)
				if err := ctx.Sleep(time.Duration(hours) * time.Hour); err != nil {
					return 7, errors.Join(err, ctx.Detached().Sleep(time.Hour))
				}
				if hours == 2 {
					return 7, errors.New("two")
				}
				return hours, nil
			})
			note("%v", out)
			return err
		}, []string{"0h 1 begins", "0h 9 begins", "0h 2 begins", "1h 3 begins", "3h [1 0 0 0 0]", "two"}},
		"two errors of one message": {func(ctx *octx, _ func(string, ...any)) error {
			timer := orchestration.StartTimer(ctx, 2*time.Hour)
			_, err := orchestration.Map(ctx, []int{1, 0}, 2, func(ctx *octx, hours int) (none, error) {
				if err := ctx.Sleep(time.Duration(hours) * time.Hour); err != nil { // the second one waits first
					return none{}, err
				}
				_, err := timer.Get(ctx)
				return none{}, errors.Join(err, fmt.Errorf("of %d", hours))
			})
			return err
		}, []string{"of 1"}},
		"the scope around it ends": {func(ctx *octx, note func(string, ...any)) error {
			scope, cancel := ctx.WithTimeout(90 * time.Minute)
			defer cancel()
			out, err := orchestration.Map(scope, []int{1, 1, 1}, 1, func(ctx *octx, n int) (int, error) {
				note("begins")
				_ = ctx.Detached().Sleep(time.Hour) // it does not obey
				return n, nil
			})
			note("%v", out)
			return err
		}, []string{"0h begins", "1h begins", "2h [1 1 0]", "timeout"}},
		"a scope that is over": {func(ctx *octx, note func(string, ...any)) error {
			scope, cancel := ctx.WithCancel()
			cancel()
			_, err := orchestration.Map(scope, []int{1}, 1, func(*octx, int) (none, error) {
				note("begins")
				return none{}, nil
			})
			return err
		}, []string{"cancelled"}},
		"no item, no limit": {func(ctx *octx, note func(string, ...any)) error {
			nothing := func(*octx, int) (int, error) { return 0, nil }
			out, err := orchestration.Map(ctx, nil, 1, nothing)
			note("%v %s", out, kindOf(err))
			_, err = orchestration.Map(ctx, []int{1}, 0, nothing)
			return err
		}, []string{"0h [] ok", "invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.code.inEveryWay(t, c.want...)
		})
	}
}

func TestMapHasAtMostLimitCoroutines(t *testing.T) {
	t.Parallel()
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		main := func(ctx *octx, items []int) (int, error) {
			out, err := orchestration.Map(ctx, items, 3, func(ctx *octx, n int) (int, error) { return n, ctx.Sleep(time.Hour) })
			return len(out), err
		}
		h := orchestrationtest.Start(e, orchestration.Define("main", main), make([]int, 100))
		e.After(90*time.Minute, func() error {
			stacks, err := client.Query[string](e.Context(), h.Handle, "stack", none{})
			if n := strings.Count(stacks, "coroutine "); n != 4 {
				t.Errorf("%d coroutines:\n%s", n, stacks)
			}
			return err
		})
		if n, err := h.Wait(e.Context()); n != 100 || err != nil {
			t.Error(n, err)
		}
	})
}

func TestSelectFutures(t *testing.T) {
	t.Parallel()
	script(func(ctx *octx, note func(string, ...any)) error {
		futures := make([]orchestration.Future[none], 3)
		for i := range futures {
			futures[i] = orchestration.StartTimer(ctx, time.Duration(3-i)*time.Hour)
		}
		for len(futures) > 0 {
			i, err := orchestration.SelectFutures(ctx, futures)
			if err != nil {
				return err
			}
			note("%d of %d", i, len(futures))
			futures = append(futures[:i:i], futures[i+1:]...)
		}
		i, err := orchestration.SelectFutures(ctx, futures)
		note("%d %s", i, kindOf(err))
		scope, cancel := ctx.WithCancel()
		cancel()
		i, err = orchestration.SelectFutures(scope, []orchestration.Future[none]{ctx.Go(func(ctx *octx) error { return ctx.Sleep(time.Hour) })})
		note("%d", i)
		return err
	}).inEveryWay(t, "1h 2 of 3", "2h 1 of 2", "3h 0 of 1", "3h -1 invalid", "3h -1", "cancelled")
}
