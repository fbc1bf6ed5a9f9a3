package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/provider"
)

// exitCode is the exit code of the process. The numbers are those of perdure.
type exitCode int

const (
	exitOK          exitCode = 0
	exitFailure     exitCode = 1
	exitUsage       exitCode = 2
	exitStore       exitCode = 5
	exitInterrupted exitCode = 130
)

// usageError is a mistake in what the user typed.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func badUsage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// storeError is the error of a store that cannot be used.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

func (e *storeError) Unwrap() error { return e.err }

// demoError is the error of a demo that failed, with its exit code. The codes of perdure mean the same.
type demoError struct {
	err  error
	code exitCode
}

func (e *demoError) Error() string { return e.err.Error() }

func (e *demoError) Unwrap() error { return e.err }

// finish prints an error and returns the exit code.
func finish(ctx context.Context, err error, errs io.Writer) exitCode {
	if err == nil {
		return exitOK
	}
	interrupted := ctx.Err() != nil && errors.Is(err, context.Canceled)
	if cause := context.Cause(ctx); interrupted {
		err = cause // a call of the store only says that it was cancelled
	}
	fmt.Fprintf(errs, "perdure-bench: %s\n", dbname.Mask(err.Error()))
	if interrupted {
		return exitInterrupted
	}
	return codeOf(err)
}

func codeOf(err error) exitCode {
	if errors.Is(err, client.ErrFailed) {
		return exitFailure // what an orchestration met is in the chain, too
	}
	if demo, ok := errors.AsType[*demoError](err); ok {
		return demo.code
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
	for _, target := range []error{
		provider.ErrNotStore, provider.ErrNewerSchema, provider.ErrClosed, client.ErrOutcomeUnknown, context.DeadlineExceeded, fs.ErrPermission,
	} {
		if errors.Is(err, target) {
			return exitStore
		}
	}
	return exitFailure
}
