package memory_test

import (
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/validations"
	"github.com/perdure/perdure/provider/validations/engine"
)

// A core is a store with no optional interface.
type core struct {
	provider.Provider

	clock *memory.Clock // nil: the machine's
}

func newCore(t testing.TB, clock *memory.Clock) core {
	t.Helper()
	var options memory.Options
	if clock != nil {
		options.Clock = clock
	}
	p := memory.New(options)
	t.Cleanup(func() { _ = p.Close() })
	return core{p, clock}
}

// The suite runs the cases of the core and skips the others.
func TestCoreConformance(t *testing.T) {
	longtest.Skip(t)
	validations.Run(t, func(t *testing.T) provider.Provider {
		t.Helper()
		return newCore(t, nil)
	})
}

func TestCoreEngine(t *testing.T) {
	longtest.Skip(t)
	engine.Run(t, func(t *testing.T) provider.Provider {
		t.Helper()
		return newCore(t, nil)
	})
}
