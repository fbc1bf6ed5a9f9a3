package orchestrationtest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// outcome is how a run ends. The first failure ends it.
type outcome struct {
	t      *testing.T // of the bubble
	cancel context.CancelCauseFunc
	failed chan struct{} // closed by the first failure

	mu   sync.Mutex
	over bool // nothing counts any more
}

// fail fails the test, unless it has failed or is over.
func (o *outcome) fail(text string) {
	o.t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over {
		return
	}
	o.over = true
	o.t.Error(text)
	head, _, _ := strings.Cut(text, "\n")
	o.cancel(fmt.Errorf("orchestrationtest: the test has failed: %s", head))
	close(o.failed)
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
