package cron

import (
	"strings"
	"testing"
	"time"
)

func TestNext(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{ // after Wednesday, 2026-01-14 10:07:30
		"* * * * *":         "2026-01-14T10:08:00",
		"* * * * * *":       "2026-01-14T10:07:31",
		"*/15 * * * *":      "2026-01-14T10:15:00",
		"5/20 * * * *":      "2026-01-14T10:25:00",
		"30 7 10 * * *":     "2026-01-15T10:07:30",
		"0 9 * * MON-FRI":   "2026-01-15T09:00:00",
		"0 9 * * mon":       "2026-01-19T09:00:00",
		"0 0 * * 7":         "2026-01-18T00:00:00",
		"0 0 * * 5-7":       "2026-01-16T00:00:00",
		"0 0 1 FEB *":       "2026-02-01T00:00:00",
		"0 0 29 2 *":        "2028-02-29T00:00:00",
		"0 0 31 * *":        "2026-01-31T00:00:00",
		"0 0 13 * 5":        "2026-01-16T00:00:00", // 13th or Friday
		"0 0 15 * ?":        "2026-01-15T00:00:00",
		"0 0 L * *":         "2026-01-31T00:00:00",
		"0 0 L-2 2 ?":       "2026-02-26T00:00:00",
		"0 0 ? * FRIL":      "2026-01-30T00:00:00",
		"0 0 * * 1#3":       "2026-01-19T00:00:00",
		"0 0 * * 3#2,3#5":   "2026-02-11T00:00:00",
		"0 0 ? 2 1#5":       "2044-02-29T00:00:00",
		"0 0 15,L * 5L":     "2026-01-15T00:00:00",
		"@daily":            "2026-01-15T00:00:00",
		"@Hourly":           "2026-01-14T11:00:00",
		"@weekly":           "2026-01-18T00:00:00",
		"@monthly":          "2026-02-01T00:00:00",
		"@yearly":           "2027-01-01T00:00:00",
		" 0\t12  * * *  ":   "2026-01-14T12:00:00",
		"59 59 23 31 12 *":  "2026-12-31T23:59:59",
		"0 */6,9 * * *":     "2026-01-14T12:00:00",
		"0 10-10 14-14 * *": "2026-02-14T10:00:00",
	} {
		e, err := Parse(text)
		if err != nil {
			t.Error(err)
			continue
		}
		after := time.Date(2026, 1, 14, 10, 7, 30, 1, time.UTC)
		if got := e.Next(after, time.UTC).Format("2006-01-02T15:04:05"); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"":                                      "0 fields",
		"* * * *":                               "4 fields",
		"* * * * * * *":                         "7 fields",
		"TZ=UTC * * * * *":                      "field for it",
		"CRON_TZ=Asia/Tokyo * * * * *":          "field for it",
		"TZ=":                                   "field for it",
		"@every 5m":                             "interval",
		"@reboot":                               "unknown name",
		"60 * * * *":                            "0 to 59",
		"* 24 * * *":                            "0 to 23",
		"* * 0 * *":                             "1 to 31",
		"* * 32 * *":                            "1 to 31",
		"* * * 13 *":                            "1 to 12",
		"* * * * 8":                             "SUN to SAT",
		"* * * foo *":                           "JAN to DEC",
		"-1 * * * *":                            "0 to 59",
		"+1 * * * *":                            "0 to 59",
		"1- * * * *":                            "0 to 59",
		"1,,2 * * * *":                          "0 to 59",
		"*/0 * * * *":                           "step",
		"*/-1 * * * *":                          "step",
		"*/60 * * * *":                          "step",
		"*/ * * * *":                            "step",
		"1/2/3 * * * *":                         "step",
		"? * * * *":                             "0 to 59",
		"5-1 * * * *":                           "5-59,0-1",
		"99999999999999999999 * * * *":          "0 to 59",
		"٣ * * * *":                             "0 to 59",
		"0 0 31 2 *":                            "no day",
		"0 0 30,31 2 ?":                         "no day",
		"0 0 31 4,6,9,11 *":                     "no day",
		"0 0 L-30 2 *":                          "no day",
		"0 0 15W * *":                           "nearest weekday",
		"0 0 L-31 * *":                          "L-30",
		"0 0 L5 * *":                            "L-30",
		"0 0 * * 1#6":                           "#5",
		"0 0 * * #1":                            "SUN to SAT",
		"0 0 * * L":                             "SUN to SAT",
		strings.Repeat("1,", 200) + "1 * * * *": "256",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v does not say %q", text, err, why)
		}
	}
}

// A rhythm that only names times of a gap never comes in that zone, and Next ends.
func TestNeverInZone(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Skip(err)
	}
	e := mustParse(t, "*/30 2 ? 3 SUN#2")
	if got := e.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), zone); !got.IsZero() {
		t.Errorf("%v", got)
	}
	if got := e.Next(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.UTC); got.IsZero() {
		t.Error("it comes in UTC")
	}
}

// Any text is read in bounded time, and what is read keeps its promises.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"* * * * *", "*/5 0 L-3 JAN-MAR FRI#2,1L", "@daily", "TZ=UTC * * * * *", "0 0 31 2 *", "0-59/7 */2 * * 5-7", "59 59 23 29 2 ?",
	} {
		f.Add(text, int64(1700000000), "America/New_York")
	}
	f.Add("45 1 * * *", int64(1775311200), "Australia/Lord_Howe")
	f.Fuzz(func(t *testing.T, text string, at int64, name string) {
		zone, err := time.LoadLocation(name)
		if err != nil {
			zone = time.UTC
		}
		e, err := Parse(text)
		if err != nil {
			return
		}
		if again, err := Parse(e.String()); err != nil || again.String() != e.String() {
			t.Fatalf("%q is written as %q: %v", text, e, err)
		}
		after := time.Unix(at%(1<<32), 0).UTC()
		next := e.Next(after, zone)
		if next.IsZero() {
			if !e.rhythm {
				t.Fatalf("%q never comes after %v in %s", text, after, name)
			}
			return
		}
		if !next.After(after) || next.Nanosecond() != 0 {
			t.Fatalf("%q after %v in %s: %v", text, after, name, next)
		}
		// Any moment between the two has the same next one.
		if middle := after.Add(next.Sub(after) / 2); !e.Next(middle, zone).Equal(next) {
			t.Fatalf("%q in %s: after %v comes %v, but after %v comes %v", text, name, after, next, middle, e.Next(middle, zone))
		}
	})
}
