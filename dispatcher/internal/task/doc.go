// Package task runs activities: it fetches tasks, runs an attempt for each, and decides what the outcome means. That is a report to the
// store, or a result for the execution. Executions is all that it knows of turns.
package task
