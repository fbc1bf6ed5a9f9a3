package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A fetch of questions that finds none sleeps until it is notified of one, while notifications come. So an idle node costs next to nothing.
func TestFetchOfQuestionsDoesNotPoll(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	listening(t, p)
	never := func(context.Context) (provider.Time, provider.Time, error) { return 1, relational.Never, nil }
	sleepOf := func(call *waitingFetch) time.Duration {
		t.Helper()
		call.due = never
		sleep, err := p.claims.sleepOf(t.Context(), call)
		if err != nil {
			t.Fatal(err)
		}
		return sleep
	}
	if sleep := sleepOf(&waitingFetch{notified: true}); sleep != provider.MaxWait {
		t.Errorf("it sleeps %v", sleep)
	}
	if sleep := sleepOf(&waitingFetch{}); sleep > fallback {
		t.Errorf("a fetch of turns sleeps %v", sleep)
	}
	call := &waitingFetch{notified: true, wants: func(s *signal) bool { return s.Asks }, woken: make(chan struct{}, 1), sooner: make(chan struct{}, 1)}
	call.next.Store(relational.Never)
	call.notify(&signal{Due: 7})
	if len(call.sooner)+len(call.woken) != 0 || call.next.Load() != relational.Never {
		t.Error("a timer wakes it")
	}
	call.notify(&signal{Asks: true})
	if len(call.woken) != 1 {
		t.Error("a question does not wake it")
	}
	p.notifier.stop()
	if sleep := sleepOf(&waitingFetch{notified: true}); sleep > fallback {
		t.Errorf("without notifications it sleeps %v", sleep)
	}
}
