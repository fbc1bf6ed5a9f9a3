package replay_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// Coroutines that wait for each other fail the turn. A cancel request in the same turn wakes them.
func TestHazard53_CoroutinesThatWaitForEachOther(t *testing.T) {
	t.Parallel()
	code := func(s *replay.Scope) error {
		if _, err := s.Wait(s.Mailbox("go")); err != nil {
			return err
		}
		var a, b *replay.Future
		a = s.Go(func(s *replay.Scope) error { return await(s, b) })
		b = s.Go(func(s *replay.Scope) error { return await(s, a) })
		return await(s, a)
	}
	x := live(t, code)
	x.Turn()
	x.Confirm()
	_, err := x.Deliver(at(1, received("go", "", "")))
	if found, ok := errors.AsType[*replay.DeadlockError](err); !ok || found.Coroutines != 3 {
		t.Errorf("got %v", err)
	}
	x = live(t, code)
	for _, m := range []history.Event{at(1, received("go", "", "")), at(2, &history.CancelRequested{Reason: "enough"})} {
		if _, err := x.Absorb(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Continue(3); err != nil || !x.View().Ended() || !errors.Is(newEnv().Errors.Decode(*x.Turn().End.Failure), failure.ErrCancelled) {
		t.Errorf("cancelled: ended %v, %v", x.View().Ended(), err)
	}
}

// Code that something can still wake is no deadlock.
func TestWaitingIsNoDeadlock(t *testing.T) {
	t.Parallel()
	forever := func(s *replay.Scope) error {
		_, err := s.Wait()
		return err
	}
	for name, code := range map[string]program{
		"for a cancellation": func(s *replay.Scope) error { return await(s, s.Go(forever)) },
		"for an event": func(s *replay.Scope) error {
			return await(s, s.Go(func(s *replay.Scope) error {
				_, err := s.Wait(s.Mailbox("go"))
				return err
			}))
		},
		"for an activity": func(s *replay.Scope) error {
			return await(s, s.Go(func(s *replay.Scope) error { return await(s, s.Activity(activity("a"))) }))
		},
		"for a local activity": func(s *replay.Scope) error { return await(s, s.Local(activity("a"))) },
		"for a handler": func(s *replay.Scope) error {
			var f *replay.Future
			f = s.Go(func(s *replay.Scope) error { return await(s, f) })
			s.HandleEvent("stop", false, func(*replay.Scope, []byte) error {
				f.Cancel(failure.ErrCancelled)
				return nil
			})
			return await(s, f)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			live(t, code)
		})
	}
}

// Every handler that a message may begin says that it listens. Otherwise code that waits for what the handler does would
// count as a deadlock. Queries begin no code that could wake another.
func TestHandlersOfMessagesListen(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, registration := range regexp.MustCompile(`(?ms)^func \(s \*Scope\) (Handle\w+)\(.*?^}$`).FindAllSubmatch(source, -1) {
			if name := string(registration[1]); name == "HandleQuery" || name == "HandleAnyQuery" {
				continue
			}
			found++
			if !bytes.Contains(registration[0], []byte("x.job.listens = true")) {
				t.Errorf("%s: Scope.%s does not set job.listens", path, registration[1])
			}
		}
	}
	if found == 0 {
		t.Error("no registration was found")
	}
}

// Executions that began before wait as they did.
func TestOlderExecutionsWaitForEachOther(t *testing.T) {
	t.Parallel()
	x := newExecution(func(s *replay.Scope) error {
		var f *replay.Future
		f = s.Go(func(s *replay.Scope) error { return await(s, f) })
		return await(s, f)
	})
	t.Cleanup(x.Close)
	start := started()
	start.Body.(*history.ExecutionStarted).Settings = replay.SettingsAt(replay.LevelOfTogether)
	deliver(t, x, start)
}
