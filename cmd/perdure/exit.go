package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// exitCode is the exit code of the process. Scripts rely on the numbers.
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

// exitMeaning is one line of the output of exit-codes.
type exitMeaning struct {
	Code    exitCode `json:"code"`
	Meaning string   `json:"meaning"`
}

// exitMeanings has an entry for each exit code.
//
//nolint:gochecknoglobals // constant table
var exitMeanings = []exitMeaning{
	{exitOK, "done"},
	{exitFailure, "failure: any error without a code of its own, or findings of doctor"},
	{exitUsage, "usage or bad input: unknown command or flag, wrong JSON, a payload over the limit"},
	{exitNotFound, "not found: no such instance, execution, history, point, query or update"},
	{
		exitConflict,
		"conflict: the ID is in use, or the instance has ended, is busy or not blocked, or has a full inbox or no result yet, or an older node is at work",
	},
	{exitStore, "store unusable: no such file or server, not a perdure database, a newer schema, access refused"},
	{exitInterrupted, "interrupted by SIGINT or SIGTERM"},
}

const exitStreams = `
Errors go to standard error. A command that fails prints nothing to standard output, except doctor, which prints
its findings. With -o json or -o jsonl the last line on standard error is the error as JSON, with its code.`

func exitCodesText() string {
	var text strings.Builder
	text.WriteString("Exit codes, the same for all commands:\n\n")
	for _, e := range exitMeanings {
		fmt.Fprintf(&text, "%5d  %s\n", e.Code, e.Meaning)
	}
	return text.String() + exitStreams
}

// usageError is a mistake in what the user typed.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

func badUsage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// storeError is the error of a store that cannot be used.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }

func (e *storeError) Unwrap() error { return e.err }

// errorCode returns the code of an error for programs: that of client.Code, or a word for the exit code.
func errorCode(err error, exit exitCode) string {
	if code := client.Code(err); code != "" {
		return code
	}
	switch exit {
	case exitUsage:
		return "usage"
	case exitStore:
		return "store"
	case exitInterrupted:
		return "interrupted"
	default:
		return "failure"
	}
}

// codeOf returns the exit code for an error. It checks conflicts before bad input, since some storage errors are both.
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
	// The cause is what the orchestration met, not this command.
	if is(client.ErrFailed, client.ErrQueryFailed, client.ErrUpdateFailed, client.ErrRejected, client.ErrPanicked) {
		return exitFailure
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
	case is(client.ErrNotFound, client.ErrNoPoint, client.ErrUnknownQuery, client.ErrUnknownUpdate):
		return exitNotFound
	case is(client.ErrExists, client.ErrEnded, client.ErrClosing, client.ErrUpdateDiffers, client.ErrNotFinished, client.ErrNotEnded,
		client.ErrInboxFull, client.ErrBusy, client.ErrNoNode, client.ErrSuperseded, errNotBlocked, upgrade.ErrOlder, provider.ErrConflict, provider.ErrRunning):
		return exitConflict
	case is(provider.ErrNotStore, provider.ErrNewerSchema, provider.ErrClosed, history.ErrNewer, history.ErrCorrupt,
		client.ErrOutcomeUnknown, context.DeadlineExceeded, fs.ErrPermission):
		return exitStore
	case is(client.ErrInvalid, client.ErrTooLarge, orchestration.ErrPayload):
		return exitUsage
	}
	return exitFailure
}
