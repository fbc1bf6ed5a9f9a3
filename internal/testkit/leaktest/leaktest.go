// Package leaktest fails a package whose tests leak a goroutine or an open file of a store. Leases are checked where
// stores are closed; see enginetest.CheckLeases.
package leaktest

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a TestMain, cleans up, and fails the package if its tests leaked something. It does not
// return.
func Main(m *testing.M, cleanUp ...func()) {
	code := m.Run()
	for _, fn := range cleanUp {
		fn()
	}
	if code == 0 {
		if left := describe(goleak.Find(), openFiles()); left != "" {
			fmt.Fprint(os.Stderr, left)
			code = 1
		}
	}
	os.Exit(code)
}

// describe returns the leaks, one per line.
func describe(goroutines error, files []string) (left string) {
	if goroutines != nil {
		left = fmt.Sprintf("leaktest: goroutines are left after all tests: %v\n", goroutines)
	}
	for _, name := range files {
		left += fmt.Sprintf("leaktest: a file is still open after all tests: %s\n", name)
	}
	return left
}
