// Package longtest tells the quick form of a test from its long one. `make test` runs the quick forms, with -short, and each
// rule once. `make test-long` runs the long ones: more rounds, more stores, real crashes. The package is for tests only.
package longtest

import "testing"

// Skip skips a test that only the long run has.
func Skip(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("make test-long runs it")
	}
}

// Pick returns quick in the quick run and long in the long one.
func Pick[T any](quick, long T) T {
	if testing.Short() {
		return quick
	}
	return long
}
