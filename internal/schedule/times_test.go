package schedule

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func compiled(t rapid.TB, s Spec) *Times {
	t.Helper()
	if err := s.Check(epoch); err != nil {
		t.Fatalf("%+v: %v", s, err)
	}
	times, err := Compile("id", &s)
	if err != nil {
		t.Fatal(err)
	}
	return times
}

// list returns the due times between two moments.
func (t *Times) list(after, to time.Time) (all []Due) {
	for {
		d, ok := t.Next(after)
		if !ok || d.Time.After(to) {
			return all
		}
		all, after = append(all, d), d.Time
	}
}

func texts(dues []Due) string {
	var all []string
	for _, d := range dues {
		all = append(all, d.Time.Format("02T15:04:05"))
	}
	return strings.Join(all, " ")
}

func TestTimes(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	for name, c := range map[string]struct {
		spec Spec
		want string
	}{
		"crons and fixed times": {
			Spec{Crons: []string{"0 6 * * *", "0 18 * * *"}, At: []time.Time{epoch.Add(18 * time.Hour), epoch.Add(time.Hour)}},
			"01T01:00:00 01T06:00:00 01T18:00:00 02T06:00:00 02T18:00:00",
		},
		"a zone":                                 {Spec{Crons: []string{"0 6 * * *"}, Zone: "Asia/Kathmandu"}, "01T00:15:00 02T00:15:00"},
		"an interval":                            {Spec{Every: []Interval{{Every: Duration(9 * time.Hour), Offset: Duration(time.Hour)}}}, "01T07:00:00 01T16:00:00 02T01:00:00 02T10:00:00 02T19:00:00"},
		"bounds":                                 {Spec{Every: []Interval{{Every: Duration(6 * time.Hour)}}, From: epoch.Add(6 * time.Hour), Until: epoch.Add(18 * time.Hour)}, "01T06:00:00 01T12:00:00 01T18:00:00"},
		"an exception":                           {Spec{Crons: []string{"0 */8 * * *"}, Except: []string{"* 8-15 * * SUN"}}, "01T16:00:00 02T00:00:00 02T08:00:00 02T16:00:00"},
		"seconds are excluded with their minute": {Spec{Crons: []string{"30 0 */12 * * *"}, Except: []string{"0 12 * * *"}}, "01T00:00:30 02T00:00:30"},
		"or not with them":                       {Spec{Crons: []string{"30 0 */12 * * *"}, Except: []string{"0 0 12 * * *"}}, "01T00:00:30 01T12:00:30 02T00:00:30 02T12:00:30"},
	} {
		if got := texts(compiled(t, c.spec).list(epoch, epoch.Add(2*day-time.Second))); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

func TestSpecIsRefused(t *testing.T) {
	t.Parallel()
	hour := []Interval{{Every: Duration(time.Hour)}}
	for why, s := range map[string]Spec{
		"names no time: give":       {},
		"at least 1s":               {Every: []Interval{{Every: Duration(time.Second / 2)}}},
		"whole seconds, at least":   {Every: []Interval{{Every: Duration(1500 * time.Millisecond)}}},
		"less than the interval":    {Every: []Interval{{Every: Duration(time.Hour), Offset: Duration(time.Hour)}}},
		"give whole seconds":        {At: []time.Time{epoch.Add(time.Hour + 1)}},
		"1970 to 9999":              {At: []time.Time{{}}},
		"unknown time zone":         {Every: hour, Zone: "Mars/Olympus"},
		"unknown time zone \"Local": {Every: hour, Zone: "Local"},
		"swap them":                 {Every: hour, From: epoch.Add(2), Until: epoch.Add(1)},
		"jitter of":                 {Every: hour, Jitter: Duration(25 * time.Hour)},
		"leave it out":              {Every: hour, MaxRunning: 2},
		"give skip, buffer-one":     {Every: hour, Overlap: "often"},
		"1 to 100":                  {Every: hour, Overlap: AllowAll, MaxRunning: 101},
		"at most 744h0m0s":          {Every: hour, CatchUp: CatchUp{Window: Duration(745 * time.Hour)}},
		"1 to 1000":                 {Every: hour, CatchUp: CatchUp{Max: 1001}},
		"PauseAfterFailures -1":     {Every: hour, PauseAfterFailures: -1},
		"limit of -1":               {Every: hour, Limit: -1},
		"from now on":               {At: []time.Time{epoch}},
		"names no time from now":    {Crons: []string{"* * * * *"}, Except: []string{"* * * * *"}},
		"intervals: give at most":   {Every: slices.Repeat(hour, MaxEvery+1)},
		"fixed times: give at most": {At: make([]time.Time, MaxAt+1)},
		"crons and":                 {Crons: slices.Repeat([]string{"@daily"}, MaxCrons+1)},
		"cron expression \"TZ=":     {Crons: []string{"TZ=UTC * * * * *"}},
		"cron expression \"no":      {Every: hour, Except: []string{"no"}},
	} {
		if err := s.Check(epoch); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%+v: %v does not say %q", s, err, why)
		}
	}
	if err := (&Spec{Every: hour, Zone: "Mars/Olympus"}).Check(epoch); !errors.Is(err, ErrZone) {
		t.Error(err)
	}
}

// specs draws specifications of frequent times.
func specs(t *rapid.T) Spec {
	s := Spec{Crons: rapid.SliceOfN(rapid.SampledFrom([]string{
		"* * * * *", "*/7 * * * *", "30 2 * * *", "0 0 1 * *", "*/20 * 3-5 * * *", "15,45 1 * * *", "0 0 * * MON#2",
	}), 0, 2).Draw(t, "crons")}
	if every := rapid.IntRange(0, 100_000).Draw(t, "every"); every > 0 || len(s.Crons) == 0 {
		s.Every = []Interval{{Every: Duration(time.Duration(every+1) * time.Second)}}
	}
	s.Zone = rapid.SampledFrom([]string{"", "America/New_York", "Australia/Lord_Howe"}).Draw(t, "zone")
	s.Jitter = Duration(time.Duration(rapid.IntRange(0, 6).Draw(t, "jitter")) * 350 * time.Second)
	s.CatchUp = CatchUp{
		Window: Duration(time.Duration(rapid.IntRange(-1, 48).Draw(t, "window")) * time.Hour), Max: rapid.IntRange(0, 5).Draw(t, "max"),
	}
	return s
}

// A plan handles each due time once: it starts it, counts it as missed, or leaves it to a later plan. It never goes back.
func TestPlansHandleEachDueTimeOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		times := compiled(t, specs(t))
		now := epoch.Add(time.Duration(rapid.IntRange(0, 20*86400).Draw(t, "begin")) * time.Second)
		of, begin := &Progress{After: now}, now
		var started []Due
		missed := int64(0)
		for range rapid.IntRange(1, 5).Draw(t, "plans") {
			now = now.Add(time.Duration(rapid.IntRange(1, 7200).Draw(t, "wait")) * time.Second)
			p, err := times.Plan(of, now)
			if err != nil {
				t.Fatal(err)
			}
			if p.After.Before(of.After) || p.After.After(now) {
				t.Fatalf("from %v to %v", of.After, p.After)
			}
			if !slices.IsSortedFunc(p.Start, func(a, b Due) int { return a.Time.Compare(b.Time) }) {
				t.Fatalf("out of order: %v", texts(p.Start))
			}
			if p.Next != nil && !p.Next.At.After(now) {
				t.Fatalf("next %v at %v", p.Next, now)
			}
			started, missed, of = append(started, p.Start...), missed+p.Missed, p.Progress()
		}
		all := slices.DeleteFunc(times.list(begin, now), func(d Due) bool { return d.At.After(now) })
		if int64(len(started))+missed != int64(len(all)) && missed < maxCounted {
			t.Fatalf("%d started, %d missed of %d: %v of %v", len(started), missed, len(all), texts(started), texts(all))
		}
		for i, d := range started {
			if slices.Contains(started[:i], d) {
				t.Fatalf("%v starts twice", d)
			}
			if !slices.Contains(all, d) {
				t.Fatalf("%v is no due time", d)
			}
		}
	})
}

// Jitter is the same everywhere, differs from time to time, and stays in its bounds.
func TestJitter(t *testing.T) {
	t.Parallel()
	s := Spec{Every: []Interval{{Every: Duration(time.Hour)}}, Jitter: Duration(10 * time.Minute)}
	other, err := Compile("other", &s)
	if err != nil {
		t.Fatal(err)
	}
	all := compiled(t, s).list(epoch, epoch.Add(48*time.Hour))
	again := compiled(t, s).list(epoch, epoch.Add(48*time.Hour))
	different := map[time.Duration]bool{}
	for i, d := range all {
		by := d.At.Sub(d.Time)
		if by < 0 || by > 10*time.Minute || d != again[i] {
			t.Errorf("%v, %v", d, again[i])
		}
		different[by] = true
	}
	if len(different) < 40 || slices.Equal(all, other.list(epoch, epoch.Add(48*time.Hour))) {
		t.Errorf("%d different delays", len(different))
	}
}

// Hostile specifications cost little: seconds, also under the race detector. Without a bound they would take days.
func TestPlanIsBounded(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]Spec{
		"each second":             {Crons: []string{"* * * * * *"}, CatchUp: CatchUp{Window: Duration(MaxWindow), Max: 1000}},
		"seconds of rare days":    {Crons: []string{"* * * 1 * *"}, CatchUp: CatchUp{Window: Duration(MaxWindow), Max: 1000}},
		"all but everything":      {Crons: []string{"* * * * * *"}, Except: []string{"* * * 1-6 *"}, CatchUp: CatchUp{Window: Duration(MaxWindow)}},
		"fifty crons of one kind": {Crons: slices.Repeat([]string{"* * * * * *"}, MaxCrons)},
	} {
		begin := time.Now()
		times := compiled(t, s)
		p, err := times.Plan(&Progress{After: epoch.AddDate(-20, 0, 0)}, epoch)
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%s: a plan took %v", name, took)
		} else {
			t.Logf("%s: %v, %d started, %d missed", name, took, len(p.Start), p.Missed)
		}
	}
}

func TestSpecInJSON(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(Spec{Crons: []string{"@daily"}, Every: []Interval{{Every: Duration(time.Hour)}}, Jitter: Duration(time.Minute)})
	if want := `{"crons":["@daily"],"every":[{"every":"1h0m0s"}],"jitter":"1m0s"}`; err != nil || string(data) != want {
		t.Errorf("%s, %v", data, err)
	}
	var s Spec
	for text, why := range map[string]string{`{"jitter":5}`: "such as", `{"jitter":"5"}`: "unit"} {
		if err := json.Unmarshal([]byte(text), &s); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
