package faulty_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/validations"
)

// A plan without rules changes nothing. One that loses every wake-up makes a provider that polls, and one that repeats each notice
// is as good: the contract allows both. It does not allow empty results before Wait has passed, so the suite does not run with
// duplicate wake-ups. The engine must tolerate them.
func TestConformance(t *testing.T) {
	longtest.Skip(t)
	blocking := []faulty.Op{faulty.FetchTurns, faulty.FetchTasks, faulty.FetchAsks, faulty.Get}
	for name, rules := range map[string][]faulty.Rule{
		"no rules": nil,
		"polling":  {{Ops: blocking, Kind: faulty.LostWake, Delay: time.Millisecond}},
		"notices":  {{Ops: []faulty.Op{faulty.Notify}, Kind: faulty.DuplicateWake}},
	} {
		t.Run(name, func(t *testing.T) {
			validations.Run(t, func(t *testing.T) provider.Provider {
				plan := faulty.NewPlan(1)
				for _, r := range rules {
					plan.Add(r)
				}
				p := faulty.Wrap(memory.New(memory.Options{}), plan)
				t.Cleanup(func() { _ = p.Close() })
				return p
			})
		})
	}
}
