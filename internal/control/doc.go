// Package control holds what operators order of the nodes of a store: queues that rest, and nodes that take no more work. A client writes
// the orders into one record. Every node reads it and obeys.
package control
