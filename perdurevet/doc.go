// Package perdurevet checks orchestration code without running it. It finds what a replay would do otherwise, and calls of package
// orchestration that cannot mean what they say.
//
// Orchestration code is every function with a parameter of type *orchestration.Context: a function, a method or a literal. Calls from
// it are followed into functions of the main module, also across packages. Beyond that a table of functions says what depends on more than
// the history, such as time.Now. Function literals of SideEffect and of activities are no orchestration code.
//
// The analyzer has these rules. A finding ends with the name of its rule.
//
//   - clock: the clock or a timer of the process
//   - random: random numbers and IDs
//   - io: files, network, environment, databases, processes
//   - print: output that each replay repeats
//   - goroutine: goroutines and what ends or pins one
//   - blocking: channels, select, locks and waits that the engine does not see
//   - global: a change of a package variable
//   - maporder: range over a map that leads to calls of the engine
//   - future: a call that is started and whose future is dropped
//   - scope: a coroutine or handler that uses the context of the function around it
//   - signature: a function without a lasting name, or a type that JSON cannot store
//   - continue: a ContinueAsNew that is not returned
//   - late: ContinueAsNew in code whose handlers change what is carried over
//   - handler: a query, validator, condition or side effect that calls the engine, or one of the first three that changes a variable
//   - ok: a comment that silences nothing, or gives no reason
//
// The comment
//
//	//perdure:ok the reason
//
// silences all rules for its line, or for the next line if it stands alone. Where a helper is silenced, so are the calls that reach it.
package perdurevet
