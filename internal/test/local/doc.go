// Package local holds the tests of local activities: the rows of the acceptance list under their names, and what perdure promises
// beyond: nothing of them is left between turns, what they record is replayed and never run again, and a turn that is lost repeats them.
//
// It is a package of tests and has no API.
package local
