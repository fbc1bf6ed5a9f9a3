package cron

import (
	"archive/zip"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// transition is a change of the clocks of some zones.
type transition struct {
	at            time.Time
	before, after time.Duration // offsets
}

// zones returns the names of all zones of the tz database that comes with Go.
func zones(t *testing.T) []string {
	t.Helper()
	archive, err := zip.OpenReader(filepath.Join(runtime.GOROOT(), "lib", "time", "zoneinfo.zip")) //nolint:staticcheck // the test runs where Go is
	if err != nil {
		t.Skipf("no tz database beside Go: %v", err)
	}
	defer func() { _ = archive.Close() }()
	var names []string
	for _, f := range archive.File {
		if !strings.HasSuffix(f.Name, "/") {
			names = append(names, f.Name)
		}
	}
	if len(names) < 500 {
		t.Fatalf("only %d zones", len(names))
	}
	return names
}

// transitions returns one zone for each different transition of the years 2020 to 2040.
func transitions(t *testing.T) map[transition]*time.Location {
	t.Helper()
	found := map[transition]*time.Location{}
	for _, name := range zones(t) {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		for at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC); ; {
			_, end := at.In(zone).ZoneBounds()
			if !end.IsZero() && !end.After(at) { // see spanAt
				end = at.Add(time.Hour)
			}
			if end.IsZero() || end.Year() > 2040 {
				break
			}
			change := transition{end.UTC(), offsetAt(at, zone), offsetAt(end, zone)}
			if at = end.UTC(); change.before != change.after {
				found[change] = zone
			}
		}
	}
	return found
}

// matches compares a local time with the fields, without any of the code of Next.
func (e *Expr) matches(local time.Time) bool {
	return e.second.has(local.Second()) && e.minute.has(local.Minute()) && e.hour.has(local.Hour()) && e.month.has(int(local.Month())) &&
		e.day.has(local.Day()) && e.weekday.has(int(local.Weekday()))
}

// wanted returns the moments around a transition that the rule names. It looks at each real minute and each minute of the
// local clock.
func wanted(e *Expr, change transition, from, to time.Time) []time.Time {
	offset := func(at time.Time) time.Duration {
		if at.Before(change.at) {
			return change.before
		}
		return change.after
	}
	var moments []time.Time
	first := map[time.Time]time.Time{} // local to real
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		local := at.Add(offset(at))
		if _, ok := first[local]; !ok {
			first[local] = at
		}
		if e.rhythm && e.matches(local) {
			moments = append(moments, at)
		}
	}
	if e.rhythm {
		return moments
	}
	for local := from.Add(change.before); local.Before(to.Add(change.after)); local = local.Add(time.Minute) {
		if !e.matches(local) {
			continue
		}
		at, ok := first[local]
		if !ok {
			at = change.at
		}
		if !slices.Contains(moments, at) {
			moments = append(moments, at)
		}
	}
	return moments
}

// Each transition of each zone from 2020 to 2040: what Next names around it is what the rule says.
func TestTransitions(t *testing.T) {
	t.Parallel()
	all := transitions(t)
	gaps, overlaps := 0, 0
	for change, zone := range all {
		if change.before < change.after {
			gaps++
		} else {
			overlaps++
		}
		lead := 3*time.Hour + max(change.after-change.before, change.before-change.after)
		from, to := change.at.Add(-lead).Truncate(time.Minute), change.at.Add(lead)
		// Another transition close by would need an oracle of its own.
		if start, _ := from.In(zone).ZoneBounds(); start.After(from) {
			continue
		}
		if _, end := change.at.In(zone).ZoneBounds(); !end.IsZero() && end.Before(to) {
			continue
		}
		local := change.at.Add(change.before)
		h, m := local.Hour(), local.Minute()
		back := local.Add(-30 * time.Minute)
		for _, text := range []string{
			fmt.Sprintf("%d %d * * *", m, h), fmt.Sprintf("30 %d * * *", h), fmt.Sprintf("0,59 %d,%d * * *", h, back.Hour()),
			fmt.Sprintf("%d %d * * *", back.Minute(), back.Hour()), "0 0 * * *", "0 3 * * *",
			fmt.Sprintf("45 %d %d * *", h, local.Day()),
			"*/30 * * * *", "* * * * *", fmt.Sprintf("*/15 %d * * *", h), fmt.Sprintf("7 %d-%d * * *", max(h-1, 0), min(h+1, 23)), "5 */2 * * *",
		} {
			e := mustParse(t, text)
			want := wanted(e, change, from, to)
			var got []time.Time
			for at := e.Next(from.Add(-time.Second), zone); !at.IsZero() && at.Before(to); at = e.Next(at, zone) {
				got = append(got, at)
			}
			if !slices.EqualFunc(got, want, time.Time.Equal) {
				t.Fatalf("%s in %s at %v (%v to %v):\ngot  %v\nwant %v", text, zone, change.at, change.before, change.after, got, want)
			}
		}
	}
	if gaps < 100 || overlaps < 100 {
		t.Errorf("only %d gaps and %d overlaps were seen", gaps, overlaps)
	}
	t.Logf("%d transitions: %d gaps, %d overlaps", len(all), gaps, overlaps)
}

func mustParse(t *testing.T, text string) *Expr {
	t.Helper()
	e, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The cases of the peers that got one of the two wrong.
func TestHazard81_ClockChanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, zone, after, want string }{
		{"a missing time", "30 2 * * *", "America/New_York", "2026-03-08T00:00:00-05:00", "2026-03-08T07:00:00Z 2026-03-09T06:30:00Z"},
		{"two missing times", "15,45 2 * * *", "America/New_York", "2026-03-08T00:00:00-05:00", "2026-03-08T07:00:00Z 2026-03-09T06:15:00Z"},
		{"a time in the gap and one behind it", "0 2,3 * * *", "America/New_York", "2026-03-08T00:00:00-05:00", "2026-03-08T07:00:00Z 2026-03-09T06:00:00Z"},
		{"seconds in the gap", "*/20 30 2 * * *", "America/New_York", "2026-03-08T00:00:00-05:00", "2026-03-08T07:00:00Z 2026-03-09T06:30:00Z"},
		{"a repeated time", "30 1 * * *", "America/New_York", "2026-11-01T00:00:00-04:00", "2026-11-01T05:30:00Z 2026-11-02T06:30:00Z"},
		{"a repeated time, asked in the second hour", "30 1 * * *", "America/New_York", "2026-11-01T01:10:00-05:00", "2026-11-02T06:30:00Z"},
		{"a rhythm", "*/30 * * * *", "America/New_York", "2026-11-01T01:00:00-04:00", "2026-11-01T05:30:00Z 2026-11-01T06:00:00Z 2026-11-01T06:30:00Z"},
		{"half an hour", "45 1 * * *", "Australia/Lord_Howe", "2026-04-05T00:00:00+11:00", "2026-04-04T14:45:00Z 2026-04-05T15:15:00Z"},
		{"midnight is missing", "0 0 * * *", "Africa/Cairo", "2026-04-23T12:00:00+02:00", "2026-04-23T22:00:00Z 2026-04-24T21:00:00Z"},
		{"a missing day", "0 12 * * *", "Pacific/Apia", "2011-12-29T13:00:00-10:00", "2011-12-30T10:00:00Z 2011-12-30T22:00:00Z"},
		{"the only day is in the gap", "30 2 8 3 *", "America/New_York", "2026-01-01T00:00:00-05:00", "2026-03-08T07:00:00Z"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Skip(err)
		}
		at, err := time.Parse(time.RFC3339, c.after)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for range strings.FieldsSeq(c.want) {
			at = mustParse(t, c.text).Next(at, zone)
			got = append(got, at.Format(time.RFC3339))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %s in %s: %v, not %s", c.name, c.text, c.zone, got, c.want)
		}
	}
}
