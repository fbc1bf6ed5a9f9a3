package enginetest

import (
	"context"
	"errors"
	"time"

	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/provider"
)

// Unchecked skips the check of the store at the end of the test, for the given reason.
func (e *Engine) Unchecked(reason string) { e.unchecked = reason }

// check fails the test if the store violates an invariant after all nodes have stopped.
func (e *Engine) check(store *provider.Full) {
	e.T.Helper()
	if e.T.Failed() {
		e.unchecked = "the test has failed, and may have left it in the middle of something"
	}
	if e.unchecked != "" {
		e.T.Logf("the store is not checked: %s", e.unchecked)
		return
	}
	// The test's own context has ended when its cleanups run.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.T.Context()), time.Minute)
	defer cancel()
	report, err := invariant.Check(ctx, store, invariant.Options{Idle: true})
	switch {
	case errors.Is(err, provider.ErrClosed):
		e.T.Log("the store is not checked: the test has closed it")
		return
	case err != nil:
		e.T.Errorf("checking the store: %v", err)
	}
	for _, f := range report.Findings {
		e.T.Errorf("the store is broken: %v", f)
	}
	for _, s := range report.Skipped {
		e.T.Errorf("the store is not checked: %s", s)
	}
}
