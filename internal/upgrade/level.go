// Package upgrade decides which level new executions of a store may use, and keeps the list of its nodes.
package upgrade

// Unrecorded is the level that a store without a record allows: the last one before stores had a record.
const Unrecorded = 5
