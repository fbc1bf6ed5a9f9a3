package bench

import (
	"testing"

	"github.com/perdure/perdure/internal/leaktest"
	"github.com/perdure/perdure/internal/postgrestest"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }
