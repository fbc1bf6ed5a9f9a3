package main

import (
	"fmt"
	"io"
	"os"
	"time"
)

// forceExit ends the process with code 1 if stop is not called within the limit. Code that never returns can block
// shutdown, and only exiting the process ends it. A limit of 0 means no limit.
func forceExit(limit time.Duration, errs io.Writer) (stop func()) {
	if limit <= 0 {
		return func() {}
	}
	timer := time.AfterFunc(limit, func() {
		fmt.Fprintf(errs, "perdure: shutdown took longer than %v: exiting\n", limit)
		os.Exit(int(exitFailure))
	})
	return func() { timer.Stop() }
}
