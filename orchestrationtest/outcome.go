package orchestrationtest

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// outcome is how a run ends. The first failure ends it.
type outcome struct {
	t      *testing.T // of the bubble
	cancel context.CancelCauseFunc
	failed chan struct{} // closed by the first failure
	alarm  *alarm

	mu   sync.Mutex
	over bool // nothing counts any more
}

// fail fails the test, unless it has failed or is over.
func (o *outcome) fail(text string) {
	o.t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over || o.alarm.abandoned() {
		return
	}
	o.over = true
	o.t.Error(text)
	head, _, _ := strings.Cut(text, "\n")
	close(o.failed) // first, so that whoever wakes by the end of the context sees it
	o.cancel(fmt.Errorf("orchestrationtest: the test has failed: %s", head))
}

// hasFailed reports whether the kit has failed the test.
func (o *outcome) hasFailed() bool {
	select {
	case <-o.failed:
		return true
	default:
		return false
	}
}

// end makes later failures count no more.
func (o *outcome) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
}

// error fails the test at its end, even if it has failed before.
func (o *outcome) error(text string) {
	o.t.Helper()
	if !o.alarm.abandoned() {
		o.t.Error(text)
	}
}

// failNow ends the calling goroutine. The outer test may have ended without the bubble, and its T then refuses all calls.
func (o *outcome) failNow() {
	o.t.Helper()
	if o.alarm.abandoned() {
		runtime.Goexit()
	}
	o.t.FailNow()
}

// log is the log of the test, as long as that takes one.
type log struct{ o *outcome }

func (l log) Write(text []byte) (int, error) {
	if l.o.alarm.abandoned() {
		return len(text), nil
	}
	return l.o.t.Output().Write(text) //nolint:wrapcheck // it is the log itself
}
