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

// The first names of a record stay, and a later one counts with all others, although it comes more often.
func TestHazard157_TheFirstNamesStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 0)
		a := f.start("a")
		key := provider.NewKey("x")
		for i := range figures.MaxNames {
			a.Attempt(&key, fmt.Sprint("first", i), observe.Completed, time.Millisecond)
		}
		wait(time.Minute)
		for range 1000 {
			a.Attempt(&key, "later", observe.Completed, time.Millisecond)
		}
		wait(2 * time.Minute)
		m := f.read(figures.Hour)
		if m.Activities["first0"] == nil || m.Activities["later"] != nil || m.Activities[figures.Other].Completed != 1000 {
			t.Errorf("%d names: first0 %+v, later %+v, others %+v", len(m.Activities), m.Activities["first0"], m.Activities["later"], m.Activities[figures.Other])
		}
		a.shutDown()
	})
}
