package postgres

import (
	"testing"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/runtime"
)

// The clock of the server is set forward and back by hours while nodes work. A step forward also ends all leases.
func TestClockStepsUnderLoad(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	schema := postgrestest.Schema(t, postgrestest.URL(t))
	url, set := clockOf(t, schema)
	p, err := OpenWith(t.Context(), url+"&pool_max_conns=8", Options{Schema: schema, Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	enginetest.On(t, p, runtime.Options{}).StepClock(set)
}
