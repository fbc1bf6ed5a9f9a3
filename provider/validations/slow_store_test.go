package validations

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// slowly delays the calls and results of a method, as a machine without spare time does. The storage itself stays fast.
func slowly[Req, Res any](f *method[Req, Res], by func() time.Duration) {
	f.around(func(ctx context.Context, req Req, inner method[Req, Res]) (Res, error) {
		time.Sleep(by()) //nolint:forbidigo // of a bubble's clock
		res, err := inner(ctx, req)
		time.Sleep(by()) //nolint:forbidigo // of a bubble's clock
		return res, err
	})
}

// starving slows all methods down.
func starving(by func() time.Duration) func(m *mutant) {
	return func(m *mutant) {
		slowly(&m.create, by)
		slowly(&m.get, by)
		slowly(&m.steer, by)
		slowly(&m.turns, by)
		slowly(&m.commit, by)
		slowly(&m.release, by)
		slowly(&m.tasks, by)
		slowly(&m.report, by)
		slowly(&m.renew, by)
		slowly(&m.send, by)
		slowly(&m.ask, by)
		slowly(&m.asks, by)
		slowly(&m.answer, by)
		slowly(&m.history, by)
		slowly(&m.list, by)
		slowly(&m.count, by)
		slowly(&m.stats, by)
		slowly(&m.remove, by)
		slowly(&m.prune, by)
		slowly(&m.letters, by)
		slowly(&m.lease, by)
		slowly(&m.record, by)
		slowly(&m.inspect, by)
		slowly(&m.createIn, by)
		slowly(&m.sendIn, by)
		slowly(&m.completeIn, by)
	}
}

// inBubbles runs a test for each case but the slow ones, in virtual time.
func inBubbles(t *testing.T, test func(t *testing.T, c testCase)) {
	t.Helper()
	for _, c := range cases() {
		t.Run(c.group+"/"+c.name, func(t *testing.T) {
			t.Parallel()
			if c.slow {
				t.Skip("makes thousands of calls")
			}
			synctest.Test(t, func(t *testing.T) {
				test(t, c)
				time.Sleep(time.Hour) //nolint:forbidigo // of a bubble's clock: calls that nobody awaits come back
			})
		})
	}
}

// A case that fails on a busy machine says nothing about the provider. No case depends on how soon the next call follows: all
// pass on a store whose calls and results are late.
func TestSuitePassesASlowStore(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, late := range []time.Duration{7 * time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond} {
		t.Run(fmt.Sprint(late), func(t *testing.T) {
			t.Parallel()
			inBubbles(t, func(t *testing.T, c testCase) {
				m := newMutant()
				starving(func() time.Duration { return late })(m)
				for _, f := range execute(t.Context(), c, &trial{Full: provider.FullOf(m), beginTx: m.begin}, time.Hour) {
					t.Error(f)
				}
				if err := m.Provider.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// One call may take seconds on a busy machine, such as a commit that waits for the disk. The slower run that follows must pass, too.
func TestSuitePassesAStoreThatIsLateOnce(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	inBubbles(t, func(t *testing.T, c testCase) {
		runs := 0
		v := judge(c, 1, func(c testCase, pace int) (*trial, []string) {
			runs++
			m := newMutant()
			once, late := sync.Once{}, 1500*time.Millisecond
			slowly(&m.create, func() (d time.Duration) {
				once.Do(func() { d = late })
				return d
			})
			one := &trial{Full: provider.FullOf(atPace(m, pace)), beginTx: m.begin, times: pace}
			failures := execute(t.Context(), c, one, 2*time.Minute)
			if err := m.Provider.Close(); err != nil {
				t.Error(err)
			}
			return one, failures
		})
		for _, f := range v.failures {
			t.Errorf("run %d: %s", runs, f)
		}
	})
}
