package versions_test

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/versions"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// register registers the code of the release with two versions.
func register(reg *runtime.Registry) error {
	return errors.Join(
		runtime.AddOrchestration(reg, versions.Subscription1), runtime.AddOrchestration(reg, versions.Subscription),
		runtime.AddActivity(reg, versions.Used),
	)
}

// The release of before has one version only. During the deploy both releases run, for a day.
func TestNextMonthRunsTheNewCode(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		charges := orchestrationtest.Replace(e, versions.Charge, nil)
		h := orchestrationtest.Start(e, versions.Subscription1, versions.State{Customer: "ann"})
		e.Sleep(15 * 24 * time.Hour)
		e.Deploy(register)
		e.Sleep(24 * time.Hour)
		e.Node().Stop()
		if s, err := h.Wait(e.Context()); s.Months != 12 || err != nil {
			t.Errorf("%+v, %v", s, err)
		}
		calls := charges.Calls()
		if len(calls) != 12 {
			t.Fatalf("%d charges", len(calls))
		}
		for month, call := range calls {
			want := 30 * 50 // hours and cents
			if month == 0 {
				want = 1000 // it began with the old code
			}
			if call.In.Cents != want {
				t.Errorf("month %d costs %d cents, want %d", month, call.In.Cents, want)
			}
		}
	})
}
