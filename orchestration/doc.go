// Package orchestration is for writing orchestrations: workflows in ordinary Go code that
// survive crashes, restarts and deploys. A [Context] calls activities and child
// orchestrations, waits for timers and events, and cancels scopes.
//
// An orchestration is a function func(*orchestration.Context, In) (Out, error). Its progress
// is stored after every step. After a crash it continues where it was, by running the same
// code again on the stored history. That only works if the code is deterministic. It takes
// time, randomness, IDs and logs from the Context and uses ctx.Go instead of the go
// statement. It leaves everything that touches the world to activities.
//
// Only the orchestration's own code may call functions and methods of this package, from the
// goroutine that the engine runs it on. A call from elsewhere ends the calling goroutine and
// fails the turn, which is retried and shows as Blocked.
//
// When the engine needs the memory, it may unwind user code at any blocking call. Deferred
// functions then run, as for runtime.Goexit, and must not touch the world.
package orchestration
