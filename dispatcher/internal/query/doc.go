// Package query answers questions to instances: it fetches them, or takes them from a client of its process, and runs the handlers that
// orchestration code has registered.
//
// A query must hurt neither its instance nor the node. It runs on the cached execution between two turns, or on one that is rebuilt from
// the history and thrown away. It is no turn: it stores no event, counts as no delivery, and never makes a turn fail.
package query
