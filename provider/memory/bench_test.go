package memory_test

import (
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/validations"
)

func BenchmarkProvider(b *testing.B) {
	validations.Bench(b, func(b *testing.B) provider.Provider {
		b.Helper()
		p := memory.New(memory.Options{})
		b.Cleanup(func() { _ = p.Close() })
		return p
	})
}
