package linearizability

import (
	"fmt"
	"os"
	"testing"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

func TestMain(m *testing.M) {
	if of := os.Getenv(nodeVariable); of != "" {
		if err := runNode(of); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaktest.Main(m, postgrestest.Stop)
}
