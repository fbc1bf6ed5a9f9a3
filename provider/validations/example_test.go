package validations_test

import (
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/provider/validations"
)

// A provider proves itself in a test of its own package. Replace memory.New with the function that opens your store.
func Example() { //nolint:testableexamples // the test runs for seconds
	TestConformance := func(t *testing.T) {
		validations.Run(t, func(t *testing.T) provider.Provider {
			t.Helper()
			return memory.New(memory.Options{})
		})
	}
	_ = TestConformance
}
