// Package doors tests the error that bad input gets at every door of the module. It has tests only.
//
// A row is an input, the literal error, and the advice for it. The tables also make the pages
// docs/reference/errors*.md, which are written by
//
//	go test ./internal/test/doors -update
//
// Without the flag the tests fail if a page differs from the tables.
package doors
