package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// forceExit ends the process with code 1 if stop is not called in time: code that does not come
// back may hold up everything, and only the end of the process ends it. A limit of 0 waits without end.
func forceExit(limit time.Duration, errs io.Writer) (stop func()) {
	if limit <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(limit, func() {
		fmt.Fprintf(errs, "perdure: shutting down takes longer than %v: the process ends\n", limit)
		os.Exit(int(exitFailure))
	})
	return func() { timer.Stop() }
}
