//go:build unix

package durability

import (
	"os"
	"testing"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

func TestMain(m *testing.M) {
	if where := os.Getenv(playing); where != "" {
		os.Exit(child(where))
	}
	if where := os.Getenv(buying); where != "" {
		os.Exit(customer(where))
	}
	if where := os.Getenv(dying); where != "" {
		os.Exit(hang(where))
	}
	if where := os.Getenv(paying); where != "" {
		os.Exit(pays(where))
	}
	leaktest.Main(m, postgrestest.Stop)
}
