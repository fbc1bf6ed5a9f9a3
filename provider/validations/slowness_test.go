package validations

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
)

// ordersByExpiry orders instances by the end of an expired lease, as a store does that moves them behind it.
func ordersByExpiry(m *mutant) {
	var ends sync.Map // of leases, by key
	m.turns.after(func(req provider.FetchTurnsRequest, res *provider.FetchTurnsResult, _ *error) {
		at := func(u provider.Turn) provider.Time {
			if end, leased := ends.Load(u.Instance.Key); leased {
				end, _ := end.(provider.Time)
				return max(end, u.Instance.ReadyAt)
			}
			return u.Instance.ReadyAt
		}
		slices.SortStableFunc(res.Turns, func(a, b provider.Turn) int { return int(at(a) - at(b)) })
		for _, u := range res.Turns {
			if req.Lease < brief {
				ends.Store(u.Instance.Key, res.Now.Add(req.Lease))
			}
		}
	})
}

// judged runs a case in virtual time on a mutant whose sends take a while, and counts the runs.
func judged(t *testing.T, name string, sends time.Duration, breaks func(*mutant)) (v verdict, runs int) {
	t.Helper()
	all := cases()
	at := slices.IndexFunc(all, func(c testCase) bool { return c.group+"/"+c.name == name })
	if at < 0 {
		t.Fatalf("there is no case %s", name)
	}
	synctest.Test(t, func(t *testing.T) {
		v = judge(all[at], 1, func(c testCase, pace int) (*trial, []string) {
			runs++
			m := newMutant()
			breaks(m)
			slowly(&m.send, func() time.Duration { return sends / 2 })
			one := &trial{Full: provider.FullOf(atPace(m, pace)), beginTx: m.begin, times: pace}
			failures := execute(t.Context(), c, one, time.Hour)
			if err := m.Provider.Close(); err != nil {
				t.Error(err)
			}
			return one, failures
		})
		time.Sleep(time.Hour) //nolint:forbidigo // of a bubble's clock: calls that nobody awaits come back
	})
	return v, runs
}

// A case that holds a lease briefly shows nothing if the lease ends before the case expects it. So a case with slow calls runs again
// with a longer lease.
func TestSlowCallsHideNoBreak(t *testing.T) {
	t.Parallel()
	const name = "settled/order-after-an-expired-lease"
	for _, c := range []struct {
		sends time.Duration
		runs  int
	}{{0, 1}, {64 * time.Millisecond, 2}, {90 * time.Millisecond, 2}} {
		v, runs := judged(t, name, c.sends, ordersByExpiry)
		if len(v.failures) == 0 || runs != c.runs {
			t.Errorf("sends of %v: %d failures in %d runs, want the break to be seen, in %d", c.sends, len(v.failures), runs, c.runs)
		}
		if v, _ := judged(t, name, c.sends, sound); len(v.failures) > 0 {
			t.Errorf("sends of %v: a correct store fails: %v", c.sends, v.failures)
		}
	}
}

// What a slow call says names the call and how to mend it. Without a brief lease the case runs only once.
func TestSlowCallsAreNamed(t *testing.T) {
	t.Parallel()
	v, runs := judged(t, "send/visible-order", 40*time.Millisecond, sound)
	if runs != 1 || !strings.Contains(v.slow, "Send took 40ms") || !strings.Contains(v.slow, "validations.Pace") {
		t.Errorf("%d runs say %q, want one, which names the call and Pace", runs, v.slow)
	}
	if v, _ := judged(t, "send/visible-order", 0, sound); v.slow != "" {
		t.Errorf("a quick store is told %q, want nothing", v.slow)
	}
}
