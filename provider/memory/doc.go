// Package memory is the provider contract in its plainest form: maps and one mutex.
//
// It is the model that conformance suites compare other providers with, and the storage
// of tests that need none. Nothing survives the process. Where the contract leaves a
// choice, the code says which one it takes and why.
//
// Time is the machine's, or that of a [Clock] which a test turns by hand. With the
// default clock it works inside a testing/synctest bubble: blocked calls wait on
// channels and timers only, and no goroutine outlives the call that needed it.
package memory
