package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations"
)

func BenchmarkProvider(b *testing.B) {
	validations.Bench(b, func(b *testing.B) provider.Provider {
		b.Helper()
		return openTest(b, filepath.Join(b.TempDir(), "bench.db"), Options{})
	})
}
