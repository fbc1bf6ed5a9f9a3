package orchestrationtest_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

const year = 365 * 24 * time.Hour

func sleepsAYear(ctx *orchestration.Context, _ int) (int, error) { return 0, ctx.Sleep(year) }

func worksDaily(ctx *orchestration.Context, days int) (int, error) {
	for day := range days {
		if err := ctx.Sleep(24 * time.Hour); err != nil {
			return day, err
		}
		if _, err := orchestration.CallActivity(ctx, Hello, "Ann"); err != nil {
			return day, err
		}
	}
	return days, nil
}

// A first test takes milliseconds, and so does a year in which nothing happens. The limits are far above that, for busy machines. A node that
// asks its store each half minute, or looks for orders each four seconds, takes longer for a year.
func TestVirtualTimeIsFree(t *testing.T) {
	for _, c := range []struct {
		what  string
		limit time.Duration
		test  func(e *orchestrationtest.Env)
	}{
		{"a first test", 2 * time.Second, func(e *orchestrationtest.Env) {
			orchestrationtest.AddActivity(e, Hello)
			if _, err := orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context()); err != nil {
				t.Error(err)
			}
		}},
		{"a year of sleep", 2 * time.Second, func(e *orchestrationtest.Env) {
			began := time.Now()
			if _, err := orchestrationtest.Start(e, sleepsAYear, 1).Wait(e.Context()); err != nil || time.Since(began) != year {
				t.Error(err, time.Since(began))
			}
		}},
		{"a year of daily work", 20 * time.Second, func(e *orchestrationtest.Env) {
			orchestrationtest.AddActivity(e, Hello)
			if n, err := orchestrationtest.Start(e, worksDaily, 365).Wait(e.Context()); err != nil || n != 365 {
				t.Error(n, err)
			}
		}},
		{"a year of an activity", 2 * time.Second, func(e *orchestrationtest.Env) {
			orchestrationtest.Replace(e, Hello, nil, orchestrationtest.Delay(year))
			if _, err := orchestrationtest.Start(e, Greet, "Ann").Wait(e.Context()); err != nil {
				t.Error(err)
			}
		}},
	} {
		began := time.Now()
		orchestrationtest.Run(t, c.test)
		d := time.Since(began)
		t.Logf("%s took %v", c.what, d)
		if d > c.limit {
			t.Fatalf("%s took %v, want less than %v", c.what, d, c.limit)
		}
	}
}
