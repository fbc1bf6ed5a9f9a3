// Package programs shows that the outcome of an orchestration depends on its code alone. It draws random programs from
// seeds and predicts by plain recursion what each of them sees. It then runs them on the engine in every way in which
// an execution may be held, lost and rebuilt.
//
// A program is data: a tree of statements that one orchestration walks through the public API. The program decides
// which of several things ends first, never the clock: the winner of a race takes a moment, the loser forever. So
// nothing that delays a step may change what the code sees, whether a node dies or the storage fails.
//
// Only the order of parallel threads depends on the moment, so it is kept apart. The code makes timers from it, and a
// replay that takes another order deviates from its history.
//
// The package has tests only and no API.
package programs
