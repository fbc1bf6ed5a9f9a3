// Package memory is the plainest implementation of the provider contract: maps and one mutex.
//
// It is the model for package validations/model, and the store of tests. Nothing survives the process. Where the contract leaves
// a choice, the code says which one it makes and why.
//
// Time is the machine's, or that of a [Clock] that a test moves. With the default clock the package works inside a
// testing/synctest bubble: blocked calls wait only on channels and timers, and no goroutine outlives its call.
package memory
