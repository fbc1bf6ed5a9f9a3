package client_test

import (
	"testing"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }
