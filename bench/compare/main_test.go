package main

import (
	"testing"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// The systems run in processes of this binary, like those of the command.
func TestMain(m *testing.M) {
	beChild()
	leaktest.Main(m, postgrestest.Stop)
}
