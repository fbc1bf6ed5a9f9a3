package reserved

import (
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	due := time.Date(2026, 11, 24, 2, 30, 0, 0, time.UTC)
	for _, id := range []string{"nightly", "a/b", "s/2026-11-24T02:30:00Z", "x!y"} {
		for _, more := range []string{"", "again", "a/b"} {
			got, at, ok := Run(RunID(id, due, more), RunRequest("key", due, more))
			if !ok || got != id || !at.Equal(due) {
				t.Errorf("%s, %q: %q, %v, %v", id, more, got, at, ok)
			}
		}
	}
	for _, c := range [][2]string{
		{"nightly/2026-11-24T02:30:00Z", ""},
		{"nightly/2026-11-24T02:30:00Z", "own"},
		{"other", RunRequest("key", due, "")},
		{"nightly/x", SchedulePrefix + "key/x"},
		{"nightly/", SchedulePrefix + "key"},
	} {
		if id, at, ok := Run(c[0], c[1]); ok || id != "" || !at.IsZero() {
			t.Errorf("%q: %q, %v", c, id, at)
		}
	}
}
