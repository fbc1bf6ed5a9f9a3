package manage

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/dispatcher/internal/storage"
	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// A gap between the wall clock and the monotonic one counts as time that has passed. A machine that slept or was
// suspended may have lost its leases. A wall clock that was set back changes nothing.
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
			now := ThisMoment()
			requested := Moment{now.mono.Add(-c.mono), now.wall.Add(-c.wall)}
			m := New(storage.New(nil, time.Second, nil, nil), Options{Lease: 30 * time.Second})
			var cause error
			a := &Attempt{Lease: Lease{requested, m.lease}, Cancel: func(why error) { cause = why }}
			if begins := a.Lease.Startable(); begins != c.begins {
				t.Errorf("begins: %v", begins)
			}
			m.Add(a)
			m.notRenewed(m.attempts[a.Ref])
			if over := errors.Is(cause, activity.ErrLeaseLost); over != c.over {
				t.Errorf("told %v", cause)
			}
		})
	}
}
