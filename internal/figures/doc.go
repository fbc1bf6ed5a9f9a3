// Package figures keeps what a fleet did over time in the records of its store, so that a page can draw a day without any other database.
//
// Each node counts its own confirmed commits in a Counter, and a Writer adds them once a minute to records that only this node writes: one of ten
// minutes by the minute, one of two hours by ten minutes, and one of a day by the hour. Nobody adds up what others wrote; Read merges. While
// nothing happens, nothing is written. A node that is killed loses less than two minutes.
//
// A node says from when to when it has counted, in each record and in its entry in the list of nodes. So Read tells a time in which nothing
// happened from one of which nothing is known.
package figures
