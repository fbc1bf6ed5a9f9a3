package fileprovider

import (
	"os"
	"testing"

	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) {
	if path := os.Getenv(victim); path != "" {
		os.Exit(sendUntilKilled(path))
	}
	leaktest.Main(m)
}
