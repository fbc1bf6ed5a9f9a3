// Package doors tests the error that bad input gets at every door of the module. It has tests only.
//
// A row is an input, the literal error, and the advice for it. The tables also make the page
// docs/reference/errors.md, which is written by
//
//	go test ./internal/test/doors -update
//
// Without the flag the test fails if the page differs from the tables.
package doors
