// Package figures keeps what a fleet did over time in the records of its store, so that a page can draw a day without any other database.
//
// Each node counts its own confirmed commits in a Counter, and a Writer adds them to records that only this node writes: one of ten minutes by the
// minute, which is written each minute, one of two hours by ten minutes, and one of a day by the hour, which are written when a slot is over. Nobody
// adds up what others wrote; Read merges, and takes from the finest records what the others lack, of which it reads no more than that. While
// nothing happens, nothing is written. A node that is killed loses less than two minutes, and once its finest records are gone, what it had counted
// in the last slot.
//
// A node says from when to when it has counted, looked at what waits, and seen nodes that keep no figures, in each record and in its entry in the
// list of nodes. So Read tells a time in which nothing happened from one of which nothing is known.
package figures
