// Package programs shows that what becomes of an orchestration depends on its code alone. It
// draws random programs from seeds, foretells by plain recursion what each of them sees, and
// runs them on the engine in every way in which an execution may be held, lost and rebuilt.
//
// A program is data: a tree of statements that one orchestration walks through the public API.
// Which of several things ends first is decided by the program and never by the clock: what
// must win a race takes a moment, what must lose it takes for ever. So nothing that delays a
// step - a node that dies, a storage that fails - may change what is seen. What does depend
// on the moment, the order in which parallel threads go on, is kept apart: the code makes timers
// from it, so that a replay which takes another order deviates from its history.
//
// It is a package of tests and has no API.
package programs
