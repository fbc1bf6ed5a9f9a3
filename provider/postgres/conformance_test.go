package postgres

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/perdure/perdure/internal/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations"
)

func TestMain(m *testing.M) {
	code := postgrestest.Main(m.Run)
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func TestConformance(t *testing.T) {
	url := postgrestest.URL(t)
	validations.Run(t, func(t *testing.T) provider.Provider {
		p, err := OpenWith(t.Context(), url+"&pool_max_conns=6", Options{Schema: postgrestest.Schema(t, url)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
		return p
	})
}
