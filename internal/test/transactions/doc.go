// Package transactions proves that starts, events and the effects of activities land with the
// transactions of a program or not at all: on SQLite, on Postgres, and on the model in memory. It holds tests only.
package transactions
