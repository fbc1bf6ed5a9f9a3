package postgres

import (
	"testing"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations"
)

func BenchmarkProvider(b *testing.B) {
	url := postgrestest.URL(b)
	validations.Bench(b, func(b *testing.B) provider.Provider {
		b.Helper()
		p, err := OpenWith(b.Context(), url, Options{Schema: postgrestest.Schema(b, url)})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := p.Close(); err != nil {
				b.Error(err)
			}
		})
		return p
	})
}
