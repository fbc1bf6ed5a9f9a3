package validations

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// A store that is 50 ms away passes each case at a pace of 50 ms and more.
func TestSuitePassesAStoreFarAway(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	inBubbles(t, func(t *testing.T, c testCase) {
		m := newMutant()
		starving(func() time.Duration { return 25 * time.Millisecond })(m)
		var o options
		Pace(50 * time.Millisecond)(&o)
		one := &trial{Full: provider.FullOf(atPace(m, o.pace)), beginTx: m.begin, times: o.pace}
		for _, f := range execute(t.Context(), c, one, time.Hour) {
			t.Error(f)
		}
		if err := m.Provider.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestPaceScalesShortDurations(t *testing.T) {
	t.Parallel()
	p := &paced{times: 5}
	for d, want := range map[time.Duration]time.Duration{
		0: 0, -1: -1, short: 5 * short, soon: 5 * soon, brief: brief, patience: patience, long: long, provider.MaxLease: provider.MaxLease,
	} {
		if got := p.scale(d); got != want {
			t.Errorf("%v becomes %v, want %v", d, got, want)
		}
	}
	if atPace(nil, 1) != nil {
		t.Error("a pace of one changes the provider")
	}
}
