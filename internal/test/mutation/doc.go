// Package mutation proves that tests can fail: it breaks the code on purpose and demands
// that the test which guards the broken rule notices. Tests only.
//
// Each file testdata/<package>/<Test>.mutant names a test and replaces text in files of this module; the folder is that of the
// first file it breaks. The files of the checkout are never touched: the toolchain gets them by an overlay. `make mutants` runs
// all of them. `go test` runs a random sample and logs its seed. It checks that every mutant still fits the code, and that every
// test of a hazard or weakness has one.
//
// The format, in which a file block may be repeated:
//
//	# what the broken code does, in one sentence
//	test: ./dispatcher TestHazard07_DirtyExecutionIsEvicted
//	file: dispatcher/internal/turn/commit.go
//	--- old
//	Go code that stands in the file exactly once, compared token by token
//	--- new
//	what replaces it, which must compile
//	--- end
package mutation
