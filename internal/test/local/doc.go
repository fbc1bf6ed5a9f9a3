// Package local tests local activities: the rows of the acceptance list under their names, and what perdure promises
// beyond them. Nothing of a local activity remains between turns. Its recorded result is replayed, and it never runs
// again. A lost turn repeats it.
//
// The package has tests only and no API.
package local
