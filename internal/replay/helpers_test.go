package replay_test

import (
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// key identifies the instance that all tests of this package run.
var key = [16]byte{1, 2, 3}

func newEnv() *replay.Env {
	next := byte(0)
	return &replay.Env{
		NewKey: func(string) [16]byte { next++; return [16]byte{next} },
		Logger: slog.New(slog.DiscardHandler), Errors: new(failure.Set),
	}
}

// program is code under test. It returns nil to complete.
type program func(s *replay.Scope) error

func newExecution(code program) *replay.Execution { return newExecutionIn(newEnv(), code) }

func newExecutionIn(env *replay.Env, code program) *replay.Execution {
	return replay.New(env, replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, func(s *replay.Scope) replay.Result {
		if err := code(s); err != nil {
			return replay.Result{Failure: new(env.Errors.Encode(err))}
		}
		return replay.Result{Output: []byte("null")}
	})
}

func started() history.Event {
	return history.Event{At: 1000, Body: &history.ExecutionStarted{Name: "test", Settings: replay.SettingsAt(replay.EngineLevel)}}
}

// lose runs fn, which may end its goroutine, and reports whether it did.
func lose(fn func()) (lost bool) {
	lost = true
	done := make(chan struct{})
	go func() {
		defer close(done)
		fn()
		lost = false
	}()
	<-done
	return lost
}

// deliver applies messages live and fails the test if code is at fault.
func deliver(t testing.TB, x *replay.Execution, messages ...history.Event) {
	t.Helper()
	var err error
	lost := lose(func() {
		for _, m := range messages {
			if _, err = x.Deliver(m); err != nil {
				return
			}
		}
	})
	if lost || err != nil {
		t.Fatalf("delivering: lost %v, %v", lost, err)
	}
}

// live runs code over messages and returns the execution, which is closed with the test.
func live(t testing.TB, code program, messages ...history.Event) *replay.Execution {
	t.Helper()
	x := newExecution(code)
	t.Cleanup(x.Close)
	deliver(t, x, append([]history.Event{started()}, messages...)...)
	return x
}

// replayed replays a history, possibly with other code, and returns the fault.
func replayed(t testing.TB, code program, events []history.Event) (*replay.Execution, error) {
	t.Helper()
	x := newExecution(code)
	t.Cleanup(x.Close)
	var err error
	if lose(func() { err = x.Replay(events) }) {
		err = x.View().Fault()
	}
	return x, err
}

// at returns a message that comes in the given second.
func at(second int64, b history.Body) history.Event {
	return history.Event{At: 1000 + second*1_000_000, Body: b}
}

func completed(scheduled int64) history.Body {
	return &history.ActivityCompleted{Scheduled: scheduled, Output: []byte("1"), Attempt: 1}
}

func received(name, payload, request string) history.Body {
	return &history.EventReceived{Name: name, Payload: []byte(payload), RequestID: request}
}

func activity(name string) *history.ActivityScheduled {
	return &history.ActivityScheduled{Name: name, Queue: "default"}
}

// kinds lists the kinds of events.
func kinds(events []history.Event) string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.Body.Kind().String()
	}
	return strings.Join(names, " ")
}

// sameEvents compares histories; the keys of children are random by design.
func sameEvents(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, want, got []history.Event,
) {
	t.Helper()
	noKeys := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Key" }, cmp.Ignore())
	if diff := cmp.Diff(want, got, noKeys); diff != "" {
		t.Fatalf("histories differ:\n%s", diff)
	}
}

// await waits for a future and drops its value.
func await(s *replay.Scope, f *replay.Future) error {
	if _, err := s.Wait(f); err != nil {
		return err
	}
	_, err := f.Result()
	return err
}

func goexit() { runtime.Goexit() }
