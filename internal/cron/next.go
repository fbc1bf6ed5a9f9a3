package cron

import "time"

// horizon is how far Next looks ahead. The rarest day, a fifth weekday of February, comes at the latest after 40 years.
const horizon = 100 * 366 * 24 * time.Hour

// maxOffset is more than any zone differs from UTC.
const maxOffset = 48 * time.Hour

// Next returns the first moment after a given one that the expression names in a zone, in UTC. It returns the zero time if none comes
// within 100 years. Its time is bounded, whatever the expression.
func (e *Expr) Next(after time.Time, zone *time.Location) time.Time {
	after = after.UTC()
	if e.rhythm {
		return e.nextOfRhythm(after, zone)
	}
	// The times of day are in the order of their moments. So the first one whose moment is late enough is the next.
	local, last := localOf(after, zone), after.Add(horizon)
	for local = e.nextLocal(local.Add(time.Second), last.Add(maxOffset)); !local.IsZero(); local = e.nextLocal(local.Add(time.Second), last.Add(maxOffset)) {
		if moment := momentOf(local, zone); moment.After(after) {
			return moment
		}
	}
	return time.Time{}
}

// nextOfRhythm goes from one span of constant offset to the next, and compares the local times in it.
func (e *Expr) nextOfRhythm(after time.Time, zone *time.Location) time.Time {
	last := after.Add(horizon)
	for from := after.Truncate(time.Second).Add(time.Second); from.Before(last); {
		offset, end := spanAt(from, zone)
		local := e.nextLocal(ceil(from.Add(offset)), last.Add(maxOffset))
		if local.IsZero() {
			return local
		}
		moment := local.Add(-offset)
		if end.IsZero() || moment.Before(end) {
			return moment
		}
		from = end
	}
	return time.Time{}
}

// localOf returns what a clock in the zone shows at a moment, to the second. The time is given as if the clock showed UTC.
func localOf(moment time.Time, zone *time.Location) time.Time {
	return moment.Add(offsetAt(moment, zone)).Truncate(time.Second)
}

func offsetAt(moment time.Time, zone *time.Location) time.Duration {
	_, offset := moment.In(zone).Zone()
	return time.Duration(offset) * time.Second
}

// ceil returns the first whole second that is not before t.
func ceil(t time.Time) time.Time {
	if whole := t.Truncate(time.Second); !whole.Equal(t) {
		return whole.Add(time.Second)
	}
	return t
}

// momentOf returns the first moment at which a clock in the zone shows a local time. If none does, it returns the first moment
// after the gap.
func momentOf(local time.Time, zone *time.Location) time.Time {
	for from := local.Add(-maxOffset); ; {
		offset, end := spanAt(from, zone)
		moment := local.Add(-offset)
		switch {
		case moment.Before(from): // the span before did not reach it
			return from
		case end.IsZero() || moment.Before(end):
			return moment
		}
		from = end
	}
}

// spanAt returns the offset of a zone at a moment, and a later moment up to which it stays at least. A zero end means for good.
func spanAt(at time.Time, zone *time.Location) (offset time.Duration, end time.Time) {
	here := at.In(zone)
	_, end = here.ZoneBounds()
	_, seconds := here.Zone()
	switch {
	case end.IsZero():
	case end.After(at):
		end = end.UTC()
	default:
		// Package time ends a year of a zone without stored transitions after 365 days, in leap years too. No zone changes its
		// clocks within the hour in which another year begins.
		end = at.Add(time.Hour)
	}
	return time.Duration(seconds) * time.Second, end
}

// Matches reports whether a moment is one that the local time of the expression names. Without a field for seconds, each moment of a minute that
// matches does, and minute says so.
func (e *Expr) Matches(moment time.Time, zone *time.Location) (matches, minute bool) {
	local := localOf(moment, zone)
	matches = e.month.has(int(local.Month())) && e.daysOf(local.Year(), local.Month())>>local.Day()&1 == 1 &&
		e.hour.has(local.Hour()) && e.minute.has(local.Minute()) && (!e.seconds || e.second.has(local.Second()))
	return matches, !e.seconds
}
