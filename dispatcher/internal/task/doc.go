// Package task runs activities: it fetches tasks, runs an attempt for each, and decides what the end of an attempt means. That is a
// report to the store, or a result for the execution. Results leave through Executions, the only thing that it knows of turns.
package task
