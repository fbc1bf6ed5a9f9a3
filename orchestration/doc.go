// Package orchestration is for orchestration code: a [Context], activities and
// children to call, timers, events and scopes.
//
// An orchestration is an ordinary function func(*orchestration.Context, In) (Out, error).
// Its progress is stored after every step, and after a crash it goes on where it was, by
// running the same code again over the stored history. That only works if the code is
// deterministic: it takes time, randomness, IDs and logs from the Context, uses ctx.Go in
// place of the go statement, and leaves everything that touches the world to activities.
//
// Only the orchestration's own code may call functions and methods of this package,
// from the goroutine that the engine runs it on. A call from elsewhere ends the
// calling goroutine and fails the turn, which is retried and shows as Blocked.
//
// The engine may unwind user code at any blocking call, to free memory. Its
// deferred functions run then, as for runtime.Goexit, and must not touch the world.
package orchestration
