package schedule_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	form "github.com/perdure/perdure/internal/schedule"
)

// jittered returns a specification whose jitter is longer than its period.
func jittered() client.ScheduleSpec {
	spec := every(10 * time.Minute)
	spec.Jitter, spec.Overlap, spec.MaxRunning = time.Hour, client.OverlapAllowAll, 100
	return spec
}

// dues returns what is due from one moment to another, by due time.
func dues(t testing.TB, spec client.ScheduleSpec, from, to time.Duration) (all []form.Due) {
	t.Helper()
	times, err := form.Compile("s", &form.Spec{Every: []form.Interval{{Every: form.Duration(spec.Every[0].Every)}}, Jitter: form.Duration(spec.Jitter)})
	if err != nil {
		t.Fatal(err)
	}
	for after := begin.Add(from - time.Nanosecond); ; {
		d, ok := times.Next(after)
		if !ok || d.Time.After(begin.Add(to)) {
			return all
		}
		all, after = append(all, d), d.Time
	}
}

// texts writes due times as wantBegan wants them.
func texts(all []form.Due, suffix string) string {
	var list []string
	for _, d := range all {
		list = append(list, d.Time.Format(time.TimeOnly)+suffix)
	}
	return strings.Join(list, " ")
}

// From and Until go by the due time, also where the jitter is longer than the period. Each due time within them has one run, at its moment.
func TestBoundsOfAJitteredSchedule(t *testing.T) {
	scheduled(t, func(w *world) {
		spec := jittered()
		spec.From, spec.Until = begin.Add(30*time.Minute), begin.Add(2*time.Hour)
		want := dues(w.T, spec, 30*time.Minute, 2*time.Hour)
		s := w.create(spec, job{})
		w.pass(2*time.Hour + time.Second)
		if d := w.describe(s); d.Done || len(d.Next) == 0 {
			w.T.Errorf("after the last due time, with runs to come: %+v", d)
		}
		w.pass(4 * time.Hour)
		w.wantBegan(texts(want, ""))
		d := w.describe(s)
		if !d.Done || d.Started != int64(len(want)) || len(d.Skips) > 0 || len(d.Ended) != len(want) {
			w.T.Errorf("%+v", d)
		}
		for _, run := range d.Ended {
			i := slices.IndexFunc(want, func(due form.Due) bool { return due.Time.Equal(run.Due) })
			if i < 0 || run.StartedAt.Sub(want[i].At).Abs() > time.Second {
				w.T.Errorf("%v started at %v", run.Due, run.StartedAt)
			}
		}
	})
}

// A limit counts starts. The jitter says which due times start first.
func TestLimitOfAJitteredSchedule(t *testing.T) {
	scheduled(t, func(w *world) {
		spec := jittered()
		inOrder := dues(w.T, spec, 10*time.Minute, 6*time.Hour)
		byMoment := slices.SortedFunc(slices.Values(inOrder), func(a, b form.Due) int { return a.At.Compare(b.At) })
		var first []form.Due
		for first == nil || slices.Equal(first, inOrder[:spec.Limit]) { // the least limit at which the jitter matters
			spec.Limit++
			first = slices.SortedFunc(slices.Values(byMoment[:spec.Limit]), func(a, b form.Due) int { return a.Time.Compare(b.Time) })
		}
		s := w.create(spec, job{})
		w.pass(6 * time.Hour)
		w.wantBegan(texts(first, ""))
		if d := w.describe(s); !d.Done || d.Started != int64(spec.Limit) || len(d.Skips) > 0 {
			w.T.Errorf("%+v", d)
		}
	})
}

// A backfill goes by the due time and waits for no jitter. A due time whose own run is to come has that run, too, once.
func TestBackfillOfAJitteredSchedule(t *testing.T) {
	scheduled(t, func(w *world) {
		spec := jittered()
		spec.Until = begin.Add(90 * time.Minute)
		all, filled := dues(w.T, spec, 10*time.Minute, 90*time.Minute), dues(w.T, spec, time.Hour, 90*time.Minute)
		now := 95 * time.Minute
		if !slices.ContainsFunc(filled, func(d form.Due) bool { return d.At.After(begin.Add(now)) }) {
			w.T.Fatal("no run is to come: the test shows nothing")
		}
		s := w.create(spec, job{})
		w.pass(now)
		n, err := s.Backfill(w.T.Context(), begin.Add(time.Hour), begin.Add(90*time.Minute))
		w.must(err)
		if d := w.describe(s); n != 4 || d.Backfills != 0 || strings.Count(w.began(), "+") != 4 {
			w.T.Errorf("%d due times, of which have begun: %s; %+v", n, w.began(), d)
		}
		w.pass(4 * time.Hour)
		var want []string
		for _, d := range all {
			want = append(want, texts([]form.Due{d}, ""))
			if slices.Contains(filled, d) {
				want = append(want, texts([]form.Due{d}, "+"))
			}
		}
		w.wantBegan(strings.Join(want, " "))
		if d := w.describe(s); d.Started != int64(len(all)+len(filled)) || len(d.Skips) > 0 {
			w.T.Errorf("%+v", d)
		}
	})
}
