package timelimit_test

import (
	"testing"

	"github.com/perdure/perdure/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }
