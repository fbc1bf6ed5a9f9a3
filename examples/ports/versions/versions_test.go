package versions_test

import (
	"testing"

	"github.com/perdure/perdure/examples/ports/versions"
	"github.com/perdure/perdure/orchestrationtest"
)

func TestNextMonthRunsTheNewCode(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, versions.Subscription)
		orchestrationtest.AddActivity(e, versions.Used)
		charges := orchestrationtest.Replace(e, versions.Charge, nil)
		h := orchestrationtest.Start(e, versions.Subscription1, versions.State{Customer: "ann"})
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
