package postgres

import (
	"testing"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations/model"
)

func TestModel(t *testing.T) {
	count := 12
	if racedetector.On {
		count = 5 // make test-long plays the others without the race detector
	}
	url := postgrestest.URL(t)
	schemas := newEmptied(t, url)
	model.Run(t, func(t testing.TB) provider.Provider {
		schema := schemas.take()
		p, err := OpenWith(t.Context(), url+"&pool_max_conns=6", Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			schemas.giveBack(t, schema)
		})
		return p
	}, model.Count(count))
}
