package figures_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/figures"
	"github.com/perdure/perdure/observe"
	"github.com/perdure/perdure/provider"
)

// crowd writes records of a letter of more nodes than one call reads.
func (f *fleet) crowd(letter string, at provider.Time) {
	f.t.Helper()
	value := fmt.Appendf(nil, `{"since":%d,"until":%d}`, at, at.Add(time.Minute))
	for i := range 20_001 {
		key := fmt.Sprintf("%s/%010d/crowd-%05d", letter, at.Std().Unix(), i)
		put := provider.RecordRequest{Action: provider.RecordPut, Namespace: "perdure/figures", Key: key, Value: value}
		if _, err := f.store.Record(f.t.Context(), put); err != nil {
			f.t.Fatal(err)
		}
	}
}

// Of more records than one call reads it reads the newest, and those of nodes that run. What it has left out is not known, or only in part, and it
// says so.
func TestHazard157_WhatIsLeftOutIsSaid(t *testing.T) {
	t.Parallel()
	for _, letter := range []string{"n", "m"} { // of nodes that have ended, and figures
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, 0)
			begin := provider.TimeOf(time.Now())
			a := f.start("running")
			a.run(1, observe.Completed)
			wait(10 * time.Minute)
			a.run(1, observe.Completed)
			f.crowd(letter, begin.Add(10*time.Minute))
			wait(10 * time.Minute)
			a.run(1, observe.Completed)
			wait(5 * time.Minute)
			m := f.read(figures.Hour)
			points := m.Points[begin.Sub(m.From)/time.Minute:]
			if m.LeftOut != begin.Add(20*time.Minute) || points[20].Known != figures.All || points[20].Counts.Started != 1 {
				t.Errorf("%s: left out before %v, the newest time is %+v", letter, m.LeftOut.Std(), points[20])
			}
			if points[10].Known != figures.Part || points[10].Counts.Started != 1 || points[9].Known != figures.None || points[0].Counts.Started != 0 {
				t.Errorf("%s: what is read in part is %+v, before it %+v", letter, points[10], points[9])
			}
			if sum := total(m).Started; sum != 2 {
				t.Errorf("%s: %d starts, want the last 2 of 3", letter, sum)
			}
			a.shutDown()
		})
	}
}
