package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// exitCode is what the process answers; scripts rely on the numbers.
type exitCode int

const (
	exitOK          exitCode = 0
	exitFailure     exitCode = 1
	exitUsage       exitCode = 2
	exitNotFound    exitCode = 3
	exitConflict    exitCode = 4
	exitStore       exitCode = 5
	exitInterrupted exitCode = 130
)

const exitCodesText = `Exit codes, the same for all commands:

    0  done
    1  failure: anything that has no code of its own, such as a demo that proved nothing, or findings of doctor
    2  usage or bad input: unknown command or flag, wrong JSON, a payload over the limit
    3  not found: no such instance, execution or history
    4  conflict: the ID is in use, the instance has ended or its inbox is full
    5  store unusable: no such file or server, not a perdure database, a newer schema, access refused
  130  interrupted by SIGINT or SIGTERM

An error goes to standard error and nothing to standard output, unless the exit code is 0. Only doctor prints its
findings to standard output in any case.`

func newExitCodesTopic() *cobra.Command {
	return &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesText}
}

// usageError is a mistake in what the user typed.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func badUsage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// storeError is a store that cannot be opened.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

func (e *storeError) Unwrap() error { return e.err }

// codeOf finds the exit code of an error. Conflicts go before bad input, since
// some answers of the storage are both.
func codeOf(err error) exitCode {
	is := func(targets ...error) bool {
		for _, target := range targets {
			if errors.Is(err, target) {
				return true
			}
		}
		return false
	}
	if err == nil {
		return exitOK
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*storeError](err); ok {
		return exitStore
	}
	if _, ok := errors.AsType[*provider.Error](err); ok {
		return exitStore
	}
	switch {
	case is(errInterrupted):
		return exitInterrupted
	case is(client.ErrNotFound):
		return exitNotFound
	case is(client.ErrExists, client.ErrEnded, client.ErrInboxFull, provider.ErrConflict, provider.ErrRunning):
		return exitConflict
	case is(provider.ErrNotStore, provider.ErrNewerSchema, provider.ErrClosed, history.ErrNewer, history.ErrCorrupt,
		client.ErrOutcomeUnknown, context.DeadlineExceeded, fs.ErrPermission):
		return exitStore
	case is(client.ErrInvalid, client.ErrTooLarge, orchestration.ErrTooLarge, orchestration.ErrPayload, orchestration.ErrInvalid):
		return exitUsage
	}
	return exitFailure
}
