// Package observe is what metrics and traces are made of. A node and a client report what they have done to an [Observer],
// which runtime.Options and client.Options take. It needs the standard library only.
//
// Each [Event] is reported at one place, after its outcome is known: a turn when its commit is confirmed, an attempt when its
// result is stored. Nothing is reported from inside a replay, so an execution that is rebuilt counts nothing twice. A commit
// whose outcome no node ever learns is counted by none.
//
// Events reach the Observer on a goroutine of their own, one after the other and outside of all locks. They wait in
// queues of 8,192: one of calls of the store, and one of all others. If the Observer is too slow, further events are dropped and counted;
// see [Gauges]. A call that panics has no effect.
//
// Package metrics/prometheus and the module perdure/otel are such observers. Two of them together are [All].
package observe
