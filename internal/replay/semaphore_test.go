package replay_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/replay"
)

// Coroutines that wait for each other's locks fail the turn.
func TestCoroutinesThatWaitForLocks(t *testing.T) {
	t.Parallel()
	x := live(t, func(s *replay.Scope) error {
		var a, b replay.Semaphore
		box := s.Mailbox("go")
		both := func(first, second *replay.Semaphore) func(*replay.Scope) error {
			return func(s *replay.Scope) error {
				if err := first.Acquire(s, 1, 1); err != nil {
					return err
				}
				_, err := s.Wait(box)
				return errors.Join(err, second.Acquire(s, 1, 1))
			}
		}
		one, two := s.Go(both(&a, &b)), s.Go(both(&b, &a))
		return errors.Join(await(s, one), await(s, two))
	})
	x.Turn()
	x.Confirm()
	_, err := x.Deliver(at(1, received("go", "", "")))
	if found, ok := errors.AsType[*replay.DeadlockError](err); !ok || found.Coroutines != 3 {
		t.Errorf("got %v", err)
	}
}

// A lock in a package variable is no state of the execution.
func TestLockOfAnotherExecution(t *testing.T) {
	t.Parallel()
	var shared replay.Semaphore
	code := func(s *replay.Scope) error { return shared.Acquire(s, 1, 1) }
	live(t, code)
	x := newExecution(code)
	t.Cleanup(x.Close)
	_, err := x.Deliver(started())
	if err == nil || !strings.Contains(err.Error(), "semaphore_test.go:") {
		t.Errorf("got %v", err)
	}
}
