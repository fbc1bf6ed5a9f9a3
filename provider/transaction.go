package provider

import (
	"context"
	"fmt"
)

// Tx is a transaction on a store's database, in the form that the store's package uses. A function of that
// package, such as postgres.InTx, makes it from a transaction that the program began. It is an option of those
// calls of package client that can be stored inside a transaction.
type Tx struct{ Of any }

// StartOption makes a Tx an option of client.Start.
func (Tx) StartOption() {}

// RaiseOption makes a Tx an option of client.Raise.
func (Tx) RaiseOption() {}

// Transactor is implemented by providers that can store inside a transaction of the caller,
// and run a caller's function inside a transaction of their own. A transaction that is not on
// the store's database fails with [ErrForeignTx].
type Transactor interface {
	// CreateIn is Create inside tx: the instance exists if and only if tx commits, and is not visible
	// outside tx before that. It may ignore First, as Create may.
	//
	// The holder of the ID is the one that tx sees. A refusal leaves tx as it was. Waiting fetches wake
	// soon after tx has committed, although the caller does not report the commit to the provider.
	CreateIn(ctx context.Context, tx Tx, req CreateRequest) (CreateResult, error)

	// SendIn is Send inside tx: the message is in the inbox, of an instance that has not closed, if and
	// only if tx commits. It may go to an instance that was created inside the same tx. A refusal leaves
	// tx as it was.
	SendIn(ctx context.Context, tx Tx, req SendRequest) (SendResult, error)

	// CompleteIn is ReportTasks of one Complete item, with fn called inside the transaction that stores it.
	// The writes of fn are stored if and only if the completion is.
	//
	// An error of fn is returned as a [*FuncError], and nothing is stored. fn may be called again, in another
	// transaction, before the call returns. If the token does not hold the task, or the execution no longer
	// runs, nothing of fn is stored.
	CompleteIn(ctx context.Context, item TaskReport, fn func(Tx) error) (TaskReportResult, error)
}

// FuncError is the error of a function that ran inside a transaction of the provider. Nothing happened.
type FuncError struct{ Err error }

// Error implements error.
func (e *FuncError) Error() string { return fmt.Sprintf("inside the transaction: %v", e.Err) }

// Unwrap returns the error of the function.
func (e *FuncError) Unwrap() error { return e.Err }
