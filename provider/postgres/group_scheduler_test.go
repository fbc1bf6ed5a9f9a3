package postgres

import (
	"runtime"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// Callers that return from one group share the next one. None goes ahead, and nobody waits for one that does not
// return.
func TestGroupLingersForCallersThatReturn(t *testing.T) {
	longtest.Skip(t)
	queue := relational.NewQueue()
	scheduler := newScheduler(queue, func(string) (provider.UUID, bool) { return provider.UUID{}, false })
	scheduler.lingerWindow = time.Minute
	const answered = 3
	queue.Add(&relational.Member{}, false) // it came while the group was in flight
	go func() {
		for range answered {
			for range 100 {
				runtime.Gosched()
			}
			queue.Add(&relational.Member{}, false)
		}
	}()
	scheduler.linger(queue, answered)
	if group, _ := scheduler.take(queue); len(group) != 1+answered {
		t.Errorf("the next group has %d members", len(group))
	}
	began := time.Now()
	scheduler.linger(queue, 1)
	if took := time.Since(began); took > scheduler.lingerWindow/2 {
		t.Errorf("after a single step the next waited for %v", took)
	}
	scheduler.lingerWindow = time.Millisecond
	scheduler.linger(queue, answered) // it ends although nobody comes
}
