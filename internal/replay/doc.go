// Package replay runs the code of one execution deterministically.
//
// Code runs as coroutines, exactly one at a time, in an order that depends only on the
// history: messages are applied one by one, and after each the scheduler runs until every
// coroutine blocks. What code asks for meanwhile - its commands - becomes events that
// directly follow the message. On replay the same commands are matched against the
// stored events, and the first difference is a [NonDeterminismError].
//
// An [Execution] is used by one goroutine at a time, and every call that can resume code
// (Replay, Deliver, Close) needs a goroutine that may be lost: parked code is unwound
// with runtime.Goexit, which also ends the goroutine that resumed it, and user code may
// call Goexit itself. A panic would not do, since user code may recover it.
//
// This package knows no storage and no Go types of users: payloads are bytes, and package
// orchestration puts types around it. It reads no clock, starts no goroutine for code and
// ranges over no map, so that nothing but history decides.
package replay
