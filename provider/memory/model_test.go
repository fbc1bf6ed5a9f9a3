package memory_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/validations/model"
)

// A clocked store has a clock that the test moves.
type clocked struct {
	*provider.Full

	clock *memory.Clock
}

func (c clocked) Unwrap() provider.Provider { return c.Provider }

// The model does not differ from itself, or it would depend on chance.
func TestModel(t *testing.T) {
	model.Run(t, func(t testing.TB) provider.Provider {
		clock := memory.NewClock(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC))
		p := memory.New(memory.Options{Clock: clock})
		t.Cleanup(func() { _ = p.Close() })
		return clocked{provider.FullOf(p), clock}
	}, model.Advance(func(p provider.Provider, d time.Duration) { p.(clocked).clock.Advance(d) }))
}
