package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations"
)

func TestConformance(t *testing.T) {
	validations.Run(t, func(t *testing.T) provider.Provider {
		return openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	})
}

// openTest opens a store that is closed with the test.
func openTest(tb testing.TB, path string, o Options) *Provider {
	tb.Helper()
	p, err := OpenWith(path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := p.Close(); err != nil {
			tb.Error(err)
		}
	})
	return p
}
