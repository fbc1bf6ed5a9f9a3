package replay_test

import (
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// A query that comes after an event waits until the code has run on it, also if the turn that stored it held the code.
func TestHazard77_HeldCodeIsNotAskedAfterAnEvent(t *testing.T) {
	t.Parallel()
	taken := byte('0')
	x := live(t, func(s *replay.Scope) error {
		s.HandleQuery("n", func([]byte) ([]byte, error) { return []byte{taken}, nil })
		for {
			if _, err := s.Wait(s.Mailbox("go")); err != nil {
				return err
			}
			s.Mailbox("go").Take()
			taken++
		}
	})
	store := func() {
		x.Turn()
		x.Confirm()
	}
	store()
	if _, err := x.Absorb(at(1, received("go", "1", "r"))); err != nil {
		t.Fatal(err)
	}
	x.Hold()
	store()
	q := replay.Query{Name: "n", After: "r"}
	if x.Ask(&q); q.Answer.Outcome != history.AnswerNotYet {
		t.Errorf("held: outcome %d, output %s", q.Answer.Outcome, q.Answer.Output)
	}
	if err := x.Continue(2); err != nil {
		t.Fatal(err)
	}
	store()
	q = replay.Query{Name: "n", After: "r"}
	if x.Ask(&q); string(q.Answer.Output) != "1" {
		t.Errorf("it ran: outcome %d, output %s", q.Answer.Outcome, q.Answer.Output)
	}
}
