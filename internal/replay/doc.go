// Package replay runs the code of one execution deterministically.
//
// Code runs as coroutines, exactly one at a time, in an order that depends only on the history. The messages of a turn
// are applied, and after the last one the scheduler runs until every coroutine blocks. The commands of the code become
// events that directly follow that message. Each message before says that more follow, so a replay stops where the turn
// did. Executions that older releases started run their code after each message. On replay the same commands are matched
// against the stored events, and the first difference is a [NonDeterminismError].
//
// An [Execution] runs code, its [View] tells what it has become, and its [Probe] watches running code. Only one goroutine at a time may use
// an Execution and its View; any may use its Probe. Every call that can resume code (Replay,
// Deliver, Continue, Close, and Absorb in executions of older releases) may end its goroutine. Parked code is unwound
// with runtime.Goexit, which also ends the goroutine that resumed it. User code may call Goexit itself. A panic would
// not do, as user code may recover it.
//
// This package knows no storage and no Go types of users. Payloads are bytes, and package orchestration adds the
// types. It reads no clock, starts no goroutine for code and lets no order of a map decide: the outcome depends only
// on the history.
package replay
