// Package transactions proves that starts, events and the effects of activities are stored with the transactions of a
// program or not at all. It tests SQLite, Postgres and the model in memory. It has tests only.
package transactions
