// Package upgrade decides which level new executions of a store may use, and keeps the list of the nodes on it.
//
// A store has one record with the level that clients and nodes may use without being asked for it by user code. The first
// node on an empty store writes its own level. Only the command upgrade --finish raises it later, when every node reads
// the newer level. It never falls.
package upgrade
