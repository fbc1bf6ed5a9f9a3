package provider

import (
	"context"
	"fmt"
)

// Tx is a transaction on the database that a store is in, as the package of that store knows it. Functions of such
// packages make it of what a program began itself, such as postgres.InTx; it is then an option of the
// calls of package client that can be stored inside it.
type Tx struct{ Of any }

// StartOption makes a Tx an option of client.Start.
func (Tx) StartOption() {}

// RaiseOption makes a Tx an option of client.Raise.
func (Tx) RaiseOption() {}

// Transactor is implemented by providers that can store inside a transaction which the caller
// began, and run a caller's function inside one of their own. A transaction that is not one of the
// store's database answers [ErrForeignTx].
type Transactor interface {
	// CreateIn is Create inside tx: the instance is there if and only if tx commits, and nobody
	// else sees it before. It may ignore First, as Create may.
	//
	// Who holds the ID is decided by what tx sees. A refusal leaves tx as it was. Fetches that wait
	// are woken soon after tx has committed, although nobody tells the provider that it did.
	CreateIn(ctx context.Context, tx Tx, req CreateRequest) (CreateResult, error)

	// SendIn is Send inside tx: the message is in the inbox, of an instance that has not closed, if and only if tx commits.
	// It may go to an instance that was created inside the same tx. A refusal leaves tx as it was.
	SendIn(ctx context.Context, tx Tx, req SendRequest) (SendResult, error)

	// CompleteIn is ReportTasks of one Complete item, with fn called inside the transaction that stores it:
	// what fn does there is stored if and only if the completion is.
	//
	// An error of fn is answered as a [*FuncError], and then nothing is stored.
	// fn may be called again, in another transaction, before the call returns. If the token does not hold the task, or the
	// execution no longer runs, nothing of fn is stored.
	CompleteIn(ctx context.Context, item TaskReport, fn func(Tx) error) (TaskReportResult, error)
}

// FuncError is what a function answered that was to run inside a transaction of the provider. Nothing happened.
type FuncError struct{ Err error }

// Error implements error.
func (e *FuncError) Error() string { return fmt.Sprintf("inside the transaction: %v", e.Err) }

// Unwrap returns what the function answered.
func (e *FuncError) Unwrap() error { return e.Err }
