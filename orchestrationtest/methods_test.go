package orchestrationtest_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// kiosk has an activity.
type kiosk struct{ sold int }

func (k *kiosk) Sell(_ context.Context, n int) (int, error) {
	k.sold += n
	return k.sold, nil
}

// Close is no activity.
func (k *kiosk) Close() error { return nil }

// counter has an activity, too.
type counter struct{}

func (*counter) Count(context.Context, int) (int, error) { return 0, nil }

// sells calls a method of the kiosk by function, and another one by name.
func sells(ctx *orchestration.Context, n int) (int, error) {
	n, err := orchestration.CallActivity(ctx, (*kiosk)(nil).Sell, n)
	if err != nil {
		return 0, err
	}
	more, err := orchestration.CallActivityNamed[int](ctx, "shop.Count", 0)
	return n + more, err
}

// Methods that are registered at once run, and are replaced by function, by name and by what Define returns.
func TestReplaceMethods(t *testing.T) {
	t.Parallel()
	ten := func(context.Context, int) (int, error) { return 10, nil }
	for name, c := range map[string]struct {
		replace func(e *orchestrationtest.Env)
		want    int
	}{
		"none": {func(*orchestrationtest.Env) {}, 5},
		"by function": {func(e *orchestrationtest.Env) {
			orchestrationtest.Replace(e, (*kiosk)(nil).Sell, ten, orchestrationtest.Times(1))
		}, 10},
		"by name": {func(e *orchestrationtest.Env) {
			orchestrationtest.ReplaceNamed(e, "kiosk.Sell", ten, orchestrationtest.Times(1))
			orchestrationtest.ReplaceNamed(e, "shop.Count", ten, orchestrationtest.Times(1))
		}, 20},
		"by Define": {func(e *orchestrationtest.Env) {
			orchestrationtest.Replace(e, activity.Define("shop.Count", (*counter)(nil).Count), ten, orchestrationtest.Times(1))
		}, 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				orchestrationtest.AddActivities(e, &kiosk{}, runtime.Except("Close"))
				orchestrationtest.AddActivities(e, &counter{}, runtime.Prefix("shop."))
				c.replace(e)
				if got, err := orchestrationtest.Start(e, sells, 5).Wait(e.Context()); got != c.want || err != nil {
					t.Errorf("%d, %v, want %d", got, err, c.want)
				}
			})
		})
	}
}
