package replay_test

import (
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

const large = 64 << 10

// largeResult is the result of an activity.
func largeResult(scheduled int64) history.Body {
	return &history.ActivityCompleted{Scheduled: scheduled, Output: make([]byte, large), Attempt: 1}
}

// The estimate does not grow with what code has read, live or on replay.
func TestSizeDoesNotGrowWithTheHistory(t *testing.T) {
	t.Parallel()
	code := func(s *replay.Scope) error {
		for {
			if err := await(s, s.Activity(sized(large))); err != nil {
				return err
			}
			if _, err := s.SideEffect(func() ([]byte, *history.Failure) { return make([]byte, large), nil }); err != nil {
				return err
			}
			box := s.Mailbox("box")
			if _, err := s.Wait(box); err != nil {
				return err
			}
			box.Take()
			child := s.Child(&history.ChildStarted{Name: "child", Input: make([]byte, large)})
			if err := await(s, child); err != nil {
				return err
			}
		}
	}
	x := live(t, code)
	first := x.View().Size()
	for range 50 {
		deliver(t, x, at(1, largeResult(x.View().Length())), at(2, received("box", strings.Repeat("x", large), "")))
		deliver(t, x, at(3, &history.ChildCompleted{Started: x.View().Length(), Output: make([]byte, large)}))
	}
	if size := x.View().Size(); size > first+large {
		t.Errorf("the size is %d bytes after 50 rounds, %d before", size, first)
	}
	again, err := replayed(t, code, x.Turn().Events)
	if err != nil || again.View().Size() != x.View().Size() {
		t.Errorf("the replayed execution has %d bytes, the live one %d: %v", again.View().Size(), x.View().Size(), err)
	}
}

// Input always counts. Events and results count from their arrival until code reads them.
func TestSizeCountsWhatIsHeld(t *testing.T) {
	t.Parallel()
	x := live(t, func(s *replay.Scope) error {
		all := []*replay.Future{s.Activity(sized(large)), s.Activity(sized(large))}
		box := s.Mailbox("go")
		for range 2 {
			if _, err := s.Wait(box); err != nil {
				return err
			}
			box.Take()
			for _, f := range all {
				if err := await(s, f); err != nil {
					return err
				}
			}
		}
		_, err := s.Wait(s.Mailbox("end"))
		return err
	})
	steps := []struct {
		name  string
		come  history.Body
		large int // payloads that are held afterwards
	}{
		{"nothing came", nil, 0},
		{"a result", largeResult(2), 1},
		{"both results", largeResult(3), 2},
		{"an event for another mailbox", received("other", strings.Repeat("x", large), ""), 3},
		{"the results were read", received("go", "1", ""), 1},
		{"they were read again", received("go", "1", ""), 1},
	}
	rest := x.View().Size()
	for _, step := range steps {
		if step.come != nil {
			deliver(t, x, at(1, step.come))
		}
		if got := x.View().Size() - rest; got < step.large*large-4<<10 || got > step.large*large+4<<10 {
			t.Errorf("%s: %d bytes more than at first, want about %d", step.name, got, step.large*large)
		}
	}
}

// The input is held as long as the execution.
func TestSizeCountsTheInput(t *testing.T) {
	t.Parallel()
	sizes := [2]int{}
	for i, input := range [][]byte{nil, make([]byte, large)} {
		first := started()
		first.Body.(*history.ExecutionStarted).Input = input
		x := newExecution(func(s *replay.Scope) error {
			_, err := s.Wait(s.Mailbox("end"))
			return err
		})
		t.Cleanup(x.Close)
		deliver(t, x, first)
		sizes[i] = x.View().Size()
	}
	if sizes[1]-sizes[0] != large {
		t.Errorf("an input of %d bytes counts %d", large, sizes[1]-sizes[0])
	}
}
