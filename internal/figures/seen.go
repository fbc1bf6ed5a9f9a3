package figures

import (
	"cmp"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

const (
	// standsFor is the time before and after a look of which it tells. Looks that are missing between two others make a gap if they are more
	// than two.
	standsFor = 15 * time.Second
	// maxPeriods bounds the periods of each kind in a record.
	maxPeriods = 50
)

// seen are the times at which a node has seen something, every ten seconds as long as it looks.
type seen struct {
	last  upgrade.Period   // it may go on; zero: there was none
	ended []upgrade.Period // before it, since they were drained last
}

// at notes a look. It reports whether a period before it has ended with that.
func (s *seen) at(t provider.Time) bool {
	p := upgrade.Period{Since: t.Add(-standsFor), Until: t.Add(standsFor)}
	switch {
	case s.last.Until == 0:
		s.last = p
	case p.Since <= s.last.Until && p.Until >= s.last.Since:
		s.last.Until = max(s.last.Until, p.Until)
	default:
		s.ended, s.last = append(s.ended, s.last), p
		return true
	}
	return false
}

// forget leaves at most maxPeriods: the newest ones.
func forget(all []upgrade.Period) []upgrade.Period { return all[max(0, len(all)-maxPeriods):] }

// widen leaves at most maxPeriods, which cover all that these cover.
func widen(all []upgrade.Period) []upgrade.Period {
	for len(all) > maxPeriods {
		all[1].Since = all[0].Since
		all = all[1:]
	}
	return all
}

// with returns some periods and the last one, if there is one.
func with(all []upgrade.Period, last upgrade.Period) []upgrade.Period {
	if last.Until == 0 {
		return all
	}
	return append(slices.Clone(all), last)
}

// joined returns periods in their order, each of which begins after the end of the one before.
func joined(all []upgrade.Period) (periods []upgrade.Period) {
	all = slices.SortedFunc(slices.Values(all), func(a, b upgrade.Period) int { return cmp.Compare(a.Since, b.Since) })
	for _, p := range all {
		if n := len(periods); n > 0 && p.Since <= periods[n-1].Until {
			periods[n-1].Until = max(periods[n-1].Until, p.Until)
		} else if p.Until > p.Since {
			periods = append(periods, p)
		}
	}
	return periods
}

// covered says how much of a time lies in joined periods.
func covered(in []upgrade.Period, from, until provider.Time) Known {
	for _, p := range in {
		switch {
		case p.Since <= from && p.Until >= until:
			return All
		case p.Since < until && p.Until > from:
			return Part
		}
	}
	return None
}
