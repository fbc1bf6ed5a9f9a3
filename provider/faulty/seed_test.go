package faulty_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/faulty"
	"github.com/perdure/perdure/provider/memory"
)

// The faults of one method do not depend on calls of others in between. Goroutines that share a plan do not change each other's
// faults.
func TestFaultsOfAMethodAreItsOwn(t *testing.T) {
	run := func(between int) (struck []faulty.Strike) {
		p, plan := open(t)
		plan.Add(faulty.Rule{Kind: faulty.Before, Probability: 0.3})
		for n := range 100 {
			_ = send(t, p, "m")
			for range n % (between + 1) {
				_, _ = p.Count(t.Context(), provider.CountRequest{})
			}
		}
		return slices.DeleteFunc(plan.Log(), func(s faulty.Strike) bool { return s.Op != faulty.Send })
	}
	alone := run(0)
	if among := run(3); !slices.Equal(alone, among) || len(alone) < 10 {
		t.Errorf("struck %v alone, %v among others", alone, among)
	}
}

func TestLog(t *testing.T) {
	p, plan := open(t)
	plan.Add(faulty.Rule{Ops: []faulty.Op{faulty.Send}, Kind: faulty.After, Every: 2})
	for range 3 {
		_ = send(t, p, "m")
	}
	plan.StartOutage()
	_ = send(t, p, "m")
	if got, want := fmt.Sprint(plan.Log()), "[send 2: after send 4: before]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// featured has optional features of package provider and one of its own.
type featured struct{ *memory.Provider }

func (featured) Migrations(context.Context) ([]provider.Migration, error) { return nil, nil }
func (featured) Migrate(context.Context) error                            { return nil }
func (featured) Fly() string                                              { return "up" }

// As finds every optional feature of a provider that is decorated twice.
func TestFeaturesStayReachable(t *testing.T) {
	inner := featured{memory.New(memory.Options{})}
	p := faulty.Wrap(faulty.Wrap(inner, faulty.NewPlan(1)), faulty.NewPlan(2))
	t.Cleanup(func() { _ = p.Close() })
	if m, ok := provider.As[provider.Migrator](p); !ok || m != provider.Migrator(inner) {
		t.Errorf("Migrator: %v, %v", m, ok)
	}
	if i, ok := provider.As[provider.Inspector](p); !ok || i != provider.Inspector(inner) {
		t.Errorf("Inspector: %v, %v", i, ok)
	}
	if f, ok := provider.As[interface{ Fly() string }](p); !ok || f.Fly() != "up" {
		t.Error("As does not find a feature of the provider's own")
	}
	if n, ok := provider.As[provider.Notifier](p); !ok || n != provider.Notifier(p) {
		t.Error("notices do not pass the plan")
	}
	if _, ok := provider.As[interface{ Swim() }](p); ok {
		t.Error("As found a feature that no provider has")
	}
}
