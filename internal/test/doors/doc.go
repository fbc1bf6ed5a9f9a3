// Package doors holds tests only: what bad input gets at every door of the module, and the
// page of the documentation that is made of these tables.
//
// A row is an input, the error that it gets to the letter, and what to do about it. The
// page docs/reference/errors.md is written by
//
//	go test ./internal/test/doors -update
//
// and without the flag the test fails if the page is not what the tables say.
package doors
