package client

import (
	"context"
	"time"

	"github.com/perdure/perdure/internal/waiting"
	"github.com/perdure/perdure/provider"
)

// NotBegun says why an activity that could run has not begun. It comes from what the nodes have written about themselves, which may be 15 s
// old, and from the orders of operators.
type NotBegun struct {
	Reason NotBegunReason `json:"reason"`
	Text   string         `json:"text"`            // in words, for people
	Nodes  []string       `json:"nodes,omitempty"` // owners of the nodes that the reason is about
}

// NotBegunReason is the reason of a NotBegun.
type NotBegunReason string

// The reasons why an activity has not begun. The first that holds is shown, in this order. Later releases may have more.
const (
	NotBegunSuspended NotBegunReason = "suspended" // its instance is suspended, or moves to another store
	NotBegunPaused    NotBegunReason = "paused"    // its queue is paused: see operate.Operator.PauseQueue
	NotBegunNoNode    NotBegunReason = "noNode"    // no node that runs serves its queue with this activity
	NotBegunDraining  NotBegunReason = "draining"  // all nodes that serve it drain: see operate.Operator.DrainNode
	NotBegunSession   NotBegunReason = "session"   // its session waits for a place on a node, or for the node that holds it
	NotBegunLimit     NotBegunReason = "limit"     // a limit of its queue is reached: see runtime.QueueLimit
	NotBegunFull      NotBegunReason = "full"      // the nodes that serve it have no free slot
	NotBegunUnknown   NotBegunReason = "unknown"   // no node lists it, and one that runs does not list all that it serves
	NotBegunNext      NotBegunReason = "next"      // nothing is known to hold it back: it begins when a node has room
)

// notBegun returns a reason as clients see it.
func notBegun(why waiting.Why) *NotBegun {
	return &NotBegun{Reason: NotBegunReason(why.Reason), Text: why.Text, Nodes: why.Nodes}
}

// due reports whether the activity could run now.
func (a *Activity) due(now time.Time) bool {
	return a.State == ActivityQueued && !a.NotBefore.After(now)
}

// explainActivities sets why activities have not begun. A store that lists no nodes cannot tell. The description is worth showing without the
// reasons, so a read that fails leaves them out.
func (c *Client) explainActivities(ctx context.Context, d *Description, tasks []provider.TaskInfo) {
	var facts *waiting.Facts
	for i := range d.Activities {
		a := &d.Activities[i]
		switch {
		case !a.due(d.AsOf):
			continue
		case d.Status == StatusSuspended || d.Sealed != nil:
			a.NotBegun = &NotBegun{Reason: NotBegunSuspended, Text: "its instance is suspended, or moves to another store"}
			continue
		}
		if facts == nil {
			ctx, cancel := c.store.Bound(ctx)
			defer cancel()
			read, err := waiting.Read(ctx, c.store)
			if err != nil {
				return
			}
			facts = &read
		}
		a.NotBegun = notBegun(facts.Why(waiting.Task{Queue: a.Queue, Name: a.Name, Session: a.Session, Holder: tasks[i].SessionOwner}))
	}
}
