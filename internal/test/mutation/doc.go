// Package mutation proves that tests can fail: it breaks the code on purpose and demands
// that the test which guards the broken rule notices. Tests only.
//
// Each file testdata/<package>/<Test>.mutant names a test and replaces text in packages of this module or of one nested in it; the
// folder is that of the first package it breaks, from the root. A change names the function, not the file, so that it stays when code
// moves. The files of the checkout are never touched: the toolchain gets them by an overlay, in which a variable of the environment turns
// each mutant on. `make mutants` runs all of them. `go test` runs a random sample and logs its seed. It checks that every mutant still
// fits the code, and that every test of a hazard or weakness has one.
//
// The format, in which a change may be repeated. A method is Type.Name. Without a function the text stands
// outside of one, or in several. The line of an import, of what the new text needs, may be missing or repeated:
//
//	# what the broken code does, in one sentence
//	test: ./dispatcher TestHazard07_DirtyExecutionIsEvicted
//	in: dispatcher/internal/turn Committer.rollBack
//	imports: time
//	--- old
//	Go code that stands there exactly once, compared token by token
//	--- new
//	what replaces it, which must compile
//	--- end
package mutation
