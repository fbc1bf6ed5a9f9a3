package operate

import (
	"testing"
	"time"

	"github.com/perdure/perdure/client"
)

// Growth says only what holds whatever a lower bound leaves open.
func TestGrowthIsNoGuess(t *testing.T) {
	t.Parallel()
	exact := func(n int64) *client.Counted { return &client.Counted{Count: n, Exact: true} }
	least := func(n int64) *client.Counted { return &client.Counted{Count: n} }
	for name, c := range map[string]struct {
		last, before *client.Counted
		long         time.Duration // of the last hour
		want         IncidentGrowth
	}{
		"more":                     {exact(12), exact(10), time.Hour, IncidentGrowing},
		"a little more":            {exact(11), exact(10), time.Hour, IncidentSteady},
		"less":                     {exact(8), exact(10), time.Hour, IncidentFalling},
		"as many in less time":     {exact(10), exact(10), 50 * time.Minute, IncidentGrowing},
		"nothing in both":          {exact(0), exact(0), time.Hour, IncidentSteady},
		"something after nothing":  {exact(1), exact(0), time.Hour, IncidentGrowing},
		"at least more":            {least(12), exact(10), time.Hour, IncidentGrowing},
		"at least less":            {least(8), exact(10), time.Hour, IncidentGrowthUnknown},
		"less than at least":       {exact(8), least(10), time.Hour, IncidentFalling},
		"more than at least":       {exact(12), least(10), time.Hour, IncidentGrowthUnknown},
		"at least of both":         {least(12), least(10), time.Hour, IncidentGrowthUnknown},
		"the last is not known":    {nil, exact(10), time.Hour, IncidentGrowthUnknown},
		"the hour before is not":   {exact(10), nil, time.Hour, IncidentGrowthUnknown},
		"the last hour is no time": {exact(10), exact(10), 0, IncidentGrowthUnknown},
	} {
		if got := growth(c.last, c.before, c.long, time.Hour); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// Groups that were not looked at have an unknown number, not zero.
func TestHoursOfGroupsThatAreCut(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_000_000, 0)
	groups := func(atLeast bool, n ...int64) *client.FailureGroups {
		all := &client.FailureGroups{AtLeast: atLeast}
		for i, count := range n {
			all.Items = append(all.Items, client.FailureGroup{Group: string(rune('a' + i)), Count: count, Last: now})
		}
		return all
	}
	rates := func(f *IncidentFailures, group string) IncidentRate {
		for i := range f.Items {
			if f.Items[i].Group == group {
				return f.Items[i].Recent
			}
		}
		t.Fatalf("no group %s", group)
		return IncidentRate{}
	}
	whole := rates(incidentFailures(groups(false, 9, 9), groups(false, 4), groups(false, 5, 2), now), "b")
	if *whole.Last != (client.Counted{Exact: true}) || *whole.Before != (client.Counted{Count: 2, Exact: true}) || whole.Growth != IncidentFalling {
		t.Errorf("a group that failed in the hour before only: %+v", whole)
	}
	if cut := rates(incidentFailures(groups(true, 9, 9), groups(true, 5), groups(true, 5), now), "b"); cut.Last != nil || cut.Before != nil {
		t.Errorf("a group that was not looked at: %+v", cut)
	}
	cut := rates(incidentFailures(groups(true, 9), groups(true, 9), groups(true, 9), now), "a")
	if cut.Last == nil || cut.Last.Exact || cut.Before != nil || cut.Growth != IncidentGrowthUnknown {
		t.Errorf("a group of which the last hour is cut: %+v", cut)
	}
	if slow := rates(incidentFailures(groups(false, 9), nil, nil, now), "a"); slow.Last != nil || slow.Growth != IncidentGrowthUnknown {
		t.Errorf("a slow store: %+v", slow)
	}
}

// A sum of which nothing is known but that it is not negative is not known.
func TestZeroOrMoreIsUnknown(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000, 0)
	point := func(known client.FiguresKnown, failed int64) client.FiguresPoint {
		return client.FiguresPoint{At: at, Until: at.Add(10 * time.Minute), Known: known, Counts: &client.FiguresCounts{Failed: failed}}
	}
	failed := func(c *client.FiguresCounts) int64 { return c.Failed }
	for name, c := range map[string]struct {
		points []client.FiguresPoint
		want   *client.Counted
	}{
		"nothing":         {nil, nil},
		"a gap":           {[]client.FiguresPoint{{At: at, Until: at.Add(time.Minute), Known: client.FiguresNone}}, nil},
		"zero":            {[]client.FiguresPoint{point(client.FiguresAll, 0)}, &client.Counted{Exact: true}},
		"zero or more":    {[]client.FiguresPoint{point(client.FiguresPart, 0), point(client.FiguresAll, 0)}, nil},
		"seven or more":   {[]client.FiguresPoint{point(client.FiguresPart, 0), point(client.FiguresAll, 7)}, &client.Counted{Count: 7}},
		"seven, with all": {[]client.FiguresPoint{point(client.FiguresAll, 4), point(client.FiguresAll, 3)}, &client.Counted{Count: 7, Exact: true}},
	} {
		got, _ := figuresOf(c.points, failed)
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
