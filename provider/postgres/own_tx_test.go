package postgres

import (
	"errors"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
)

// A call in its own transaction may write before it finds that it needs more, or that it is refused. Nothing of that may be
// committed, neither with the call's second try nor with its refusal.
func TestCallInItsOwnTxThatIsRolledBackLeavesNothing(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	parent := create(t, p, "parent")
	c := turn(&parent, 1)
	c.Events = [][]byte{[]byte("e")}
	c.Tasks = []provider.NewTask{{EventID: 1, Queue: "q", Name: "act"}}
	child := createRequest("child")
	child.Parent = provider.Parent{Key: parent.Key, ID: parent.ID, Execution: 1, EventID: 1}
	c.Starts = []provider.Start{{Create: child, Refused: text("refused")}}
	commit(t, p, c)

	notice := text("stop")
	_, err := p.Steer(t.Context(), provider.SteerRequest{
		Key: parent.Key, Commit: unique(), Action: provider.SteerTerminate, Event: []byte("end"), ChildNotice: &notice,
	})
	if err != nil {
		t.Errorf("terminate: %v", err)
	}
	if got := get(t, p, child.Key).InboxMessages; got != 2 {
		t.Errorf("the child has %d messages, want its start and the notice", got)
	}
	checkConsistent(t, p)
	if _, err := p.Send(t.Context(), provider.SendRequest{Key: parent.Key, Message: text("late")}); !errors.Is(err, provider.ErrEnded) {
		t.Errorf("got %v", err)
	}
}
