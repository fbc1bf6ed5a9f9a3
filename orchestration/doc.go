// Package orchestration is what orchestration code sees: a [Context], activities and
// children to call, timers, events and scopes.
//
// An orchestration is an ordinary function func(*orchestration.Context, In) (Out, error).
// Its progress is stored after every step, and after a crash it goes on where it was, by
// running the same code again over the stored history. That only works if the code is
// deterministic: it takes time, randomness, IDs and logs from the Context, uses ctx.Go in
// place of the go statement, and leaves everything that touches the world to activities.
//
// Functions and methods of this package may be called only by the orchestration's own
// code, from the goroutine that the engine runs it on. A call from elsewhere ends the
// calling goroutine and fails the turn, which is tried again and shows as Blocked.
//
// User code may be unwound at any blocking call, when the engine needs the memory: its
// deferred functions run then, as for runtime.Goexit, and must not touch the world.
package orchestration
