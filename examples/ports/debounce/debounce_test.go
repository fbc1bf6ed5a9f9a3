package debounce_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/examples/ports/debounce"
	"github.com/perdure/perdure/orchestrationtest"
)

// A change at each of these minutes is indexed at those.
func TestPauses(t *testing.T) {
	every4 := []int{0}
	for m := 3; m <= 79; m += 4 {
		every4 = append(every4, m)
	}
	for name, c := range map[string]struct {
		changes []int
		indexed map[int]string // minute to text
	}{
		"one":      {[]int{0}, map[int]string{5: "0"}},
		"together": {[]int{0, 3, 7}, map[int]string{12: "7"}},
		"apart":    {[]int{0, 20}, map[int]string{5: "0", 25: "20"}},
		"no pause": {every4, map[int]string{60: "59", 84: "79"}},
	} {
		t.Run(name, func(t *testing.T) {
			orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
				orchestrationtest.AddOrchestration(e, debounce.Rebuild)
				calls := orchestrationtest.Replace(e, debounce.Index, nil)
				began := time.Now()
				for _, m := range c.changes {
					e.Sleep(time.Until(began.Add(time.Duration(m) * time.Minute)))
					if err := debounce.Change(e.Context(), e.Client(), "doc", fmt.Sprint(m)); err != nil {
						t.Fatal(err)
					}
				}
				e.Sleep(2 * time.Hour)
				got := map[int]string{}
				for _, call := range calls.Calls() {
					got[int(call.At.Sub(began)/time.Minute)] = call.In
				}
				if fmt.Sprint(got) != fmt.Sprint(c.indexed) {
					t.Errorf("indexed %v, want %v", got, c.indexed)
				}
			})
		})
	}
}

// A change that comes while the index is built is not lost.
func TestChangeWhileTheIndexIsBuilt(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		orchestrationtest.AddOrchestration(e, debounce.Rebuild)
		calls := orchestrationtest.Replace(e, debounce.Index, nil, orchestrationtest.Delay(10*time.Minute))
		for _, text := range []string{"old", "new"} { // the new one comes after seven minutes
			if err := debounce.Change(e.Context(), e.Client(), "doc", text); err != nil {
				t.Fatal(err)
			}
			e.Sleep(7 * time.Minute)
		}
		e.Sleep(time.Hour)
		if got := calls.Calls(); len(got) != 2 || got[1].In != "new" || got[1].At.Sub(got[0].At) != 15*time.Minute {
			t.Errorf("%+v", got)
		}
	})
}
