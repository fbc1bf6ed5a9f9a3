package memory_test

import (
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/validations/engine"
)

func TestEngine(t *testing.T) {
	engine.Run(t, func(t *testing.T) provider.Provider {
		p := memory.New(memory.Options{})
		t.Cleanup(func() { _ = p.Close() })
		return p
	})
}
