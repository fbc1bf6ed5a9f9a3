package replay_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// logged runs code in a speculative turn and returns the execution and the log so far.
func logged(t *testing.T, code program) (*replay.Execution, *strings.Builder, error) {
	t.Helper()
	var log strings.Builder
	env := newEnv()
	env.Logger = slog.New(slog.NewTextHandler(&log, nil))
	x := replay.New(env, replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, func(s *replay.Scope) replay.Result {
		if err := code(s); err != nil {
			return replay.Result{Failure: new(env.Errors.Encode(err))}
		}
		return replay.Result{Output: []byte("null")}
	})
	t.Cleanup(x.Close)
	x.Speculate()
	var err error
	if lose(func() { _, err = x.Deliver(started()) }) {
		t.Error("the goroutine was lost")
	}
	return x, &log, err
}

// The log of a speculative turn is written when the turn is stored, in order and once. It is never written if the
// turn is discarded. Later turns log at once.
func TestSpeculateHoldsBackTheLog(t *testing.T) {
	code := func(s *replay.Scope) error {
		s.Logger().Info("first", "n", 1)
		s.Logger().With("more", true).WithGroup("g").Warn("second", "n", 2)
		f := s.Activity(activity("work"))
		err := await(s, f)
		s.Logger().Info("third")
		return err
	}
	x, log, err := logged(t, code)
	if err != nil || log.Len() != 0 {
		t.Fatalf("%v, logged %q", err, log)
	}
	x.Confirm()
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "msg=first") || !strings.Contains(lines[1], "level=WARN msg=second instance=test") ||
		!strings.Contains(lines[1], "more=true g.n=2") {
		t.Errorf("logged %q", lines)
	}
	deliver(t, x, at(1, completed(2)))
	x.Confirm()
	if strings.Count(log.String(), "\n") != 3 || !strings.HasSuffix(log.String(), "\n") || !strings.Contains(log.String(), "msg=third") {
		t.Errorf("logged %q", log)
	}
	thrown, log, err := logged(t, code)
	thrown.Close()
	if err != nil || log.Len() != 0 {
		t.Errorf("%v, logged %q", err, log)
	}
}

// A side effect does not run in a speculative turn. The turn fails even if the code ignores that.
func TestSpeculateRunsNoSideEffect(t *testing.T) {
	ran := 0
	_, _, err := logged(t, func(s *replay.Scope) error {
		defer func() { _ = recover() }()
		_, err := s.SideEffect(func() ([]byte, *history.Failure) { ran++; return nil, nil })
		return err
	})
	if err == nil || ran != 0 {
		t.Errorf("%v after %d side effects", err, ran)
	}
}
