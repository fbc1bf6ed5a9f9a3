package sqlite

import (
	"os"
	"testing"

	"github.com/perdure/perdure/internal/testkit/leaktest"
)

// childEnv makes the test binary act as another process on a store; see process_test.go.
const childEnv = "PERDURE_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(child(role))
	}
	leaktest.Main(m)
}
