// Package leaktest sees to it that the tests of a package leave nothing behind: no
// goroutine, and no open file of a store. Leases are looked for where stores are closed; see
// enginetest.CheckLeases.
package leaktest

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

// Main is what TestMain calls: it runs the tests, cleans up, and fails the package if
// something of its tests is left. It does not return.
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

// describe tells what is left, in lines.
func describe(goroutines error, files []string) (left string) {
	if goroutines != nil {
		left = fmt.Sprintf("leaktest: goroutines are left after all tests: %v\n", goroutines)
	}
	for _, name := range files {
		left += fmt.Sprintf("leaktest: a file is still open after all tests: %s\n", name)
	}
	return left
}

// ofStore tells whether a path is a store's database or a file beside it, be it deleted
// or not.
func ofStore(path string) bool {
	name := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], " (deleted)")
	_, beside, found := strings.Cut(name, ".db")
	return found && (beside == "" || beside[0] == '-')
}
