package sqlite

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// childEnv makes the test binary act as another process on a store; see process_test.go.
const childEnv = "PERDURE_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childEnv); role != "" {
		os.Exit(child(role))
	}
	goleak.VerifyTestMain(m)
}
