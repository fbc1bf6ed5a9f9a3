// Package turn makes the turns of orchestrations.
//
// It fetches instances with messages and gives each to its actor, which owns the cached execution. An actor makes one
// turn at a time. It loads or replays the execution, applies messages or results and runs the code. It translates the
// events into a commit and stores it. The watch ends turns whose code does not return.
//
// A turn is made of what a fetch brought, of results of this node's attempts, or of the start of a new instance. One function, Turns.turn,
// makes them all. What differs is in the type origin, whose comment has a table of all ends.
//
// A commit may lease a task to this node. Its attempt runs on the same goroutine, and its result goes straight to the actor, which
// commits the next turn together with the task's completion. A step then costs one commit and no fetch. If anything is in the way, such
// as a conflict, a waiting message or a busy actor, the result goes to the inbox.
//
// Read drive.go first. Turns.drive owns a goroutine, Turns.proceed makes a turn or runs the attempt that the last one handed off, Turns.step
// chooses the origin, and Turns.turn makes the turn. Only fetched uses engine.Intake: first and results call Execution.Absorb and Continue
// themselves. Only first does not use committer.commit: it stores the turn by Store.Create.
package turn
