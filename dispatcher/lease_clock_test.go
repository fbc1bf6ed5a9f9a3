package dispatcher

import (
	"errors"
	"testing"
	"time"
)

// A gap between the wall clock and the monotonic one counts as time that has passed: a machine that slept, or a virtual one that was
// suspended, may hold no lease any more. A wall clock that was set back changes nothing.
func TestHazard26_GapBetweenClocksIsExpiry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mono, wall time.Duration // that have passed since the lease was asked for
		begins     bool
		over       bool
	}{
		"nothing":                   {time.Second, time.Second, true, false},
		"suspended for 10 minutes":  {time.Second, 10 * time.Minute, false, true},
		"suspended for 15 seconds":  {8 * time.Second, 23 * time.Second, false, false},
		"the clock was set back":    {time.Second, -time.Hour, true, false},
		"set back, and the time up": {25 * time.Second, -time.Hour, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := thisMoment()
			asked := moment{now.mono.Add(-c.mono), now.wall.Add(-c.wall)}
			d := &Dispatcher{cfg: Config{Lease: 30 * time.Second}}
			d.manage = newManager(d)
			var cause error
			a := &attempt{lease: lease{asked, d.cfg.Lease}, cancel: func(why error) { cause = why }}
			if begins := a.lease.startable(thisMoment()); begins != c.begins {
				t.Errorf("begins: %v", begins)
			}
			d.manage.add(a)
			d.manage.notRenewed(d.manage.attempts[a.ref])
			if over := errors.Is(cause, errLeaseLost); over != c.over {
				t.Errorf("told %v", cause)
			}
		})
	}
}
