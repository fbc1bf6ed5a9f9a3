package waiting

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// Reason is why an activity has not begun.
type Reason string

// The reasons, in the order in which they are looked for. The first that holds counts.
const (
	Paused   Reason = "paused"   // its queue is paused
	NoNode   Reason = "noNode"   // no node that runs serves its queue with this activity
	Draining Reason = "draining" // all nodes that serve it drain
	Session  Reason = "session"  // its session waits for a place, or for the node that holds it
	Limit    Reason = "limit"    // its queue has a limit, which is reached
	Full     Reason = "full"     // all nodes that serve it have no free slot
	Unknown  Reason = "unknown"  // a node runs that does not list all that it serves
	Next     Reason = "next"     // nothing holds it back that others can see
)

// Why is a reason with what people need to know.
type Why struct {
	Reason Reason
	Text   string
	Nodes  []string // owners of the nodes that the text is about
}

// Task is an activity that waits, or several of one queue and name.
type Task struct {
	Queue, Name string
	Session     string // "": none
	Holder      string // owner of the node that holds the session; "": none does
}

// Facts are what is known of a store. Their methods change nothing.
type Facts struct {
	Nodes  []upgrade.Node
	Orders control.Orders
	Rates  map[string]provider.Time // by queue: when a queue with a rate may begin the next activity
	Now    provider.Time
}

// Why returns why a task that is queued, and whose time has come, has not begun.
func (f *Facts) Why(task Task) Why {
	if order, paused := f.Orders.Paused[task.Queue]; paused { // the reason of the order is shown with the queue: not all may read it
		return Why{Reason: Paused, Text: fmt.Sprintf("queue %q is paused since %s", task.Queue, order.At.Std().Format(time.RFC3339))}
	}
	serve := f.serving(task.Queue, task.Name)
	if len(serve) == 0 {
		return f.unserved(task)
	}
	take := slices.DeleteFunc(slices.Clone(serve), func(n *upgrade.Node) bool { return f.drains(n) })
	if len(take) == 0 {
		names := owners(serve)
		return Why{Draining, fmt.Sprintf("all nodes that serve queue %q with activity %s drain: %s", task.Queue, task.Name, list(names)), names}
	}
	if task.Session != "" {
		why, held := f.session(task, take)
		if held != nil {
			take = []*upgrade.Node{held}
		}
		if why.Reason != "" {
			return why
		}
	}
	if why := f.limit(task, take); why.Reason != "" {
		return why
	}
	return full(task, take)
}

// WhyAll returns why tasks of one queue and name have not begun. If some of them are in a session and others are not, it is the reason of
// those that are not. The nodes that hold the sessions are not known.
func (f *Facts) WhyAll(tasks *provider.WaitingTasks) Why {
	task := Task{Queue: tasks.Queue, Name: tasks.Name}
	if tasks.InSession == tasks.Count {
		task.Session = "any"
	}
	return f.Why(task)
}

// Served reports whether a node that runs serves a queue with an activity, or may do so without saying it.
func (f *Facts) Served(queue, name string) bool {
	return len(f.serving(queue, name)) > 0 || f.unlisted()
}

// Rated returns the queues that a node serves at a rate.
func (f *Facts) Rated() (queues []string) {
	for i := range f.Nodes {
		for _, q := range f.Nodes[i].Queues {
			if q.PerSecond > 0 && !slices.Contains(queues, q.Name) {
				queues = append(queues, q.Name)
			}
		}
	}
	return queues
}

// serving returns the nodes that run and list the activity of the queue.
func (f *Facts) serving(queue, name string) (nodes []*upgrade.Node) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if !n.Lost(f.Now) && (queue == reserved.Queue || n.Serves(queue, name)) {
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// unlisted reports whether a node runs that does not list all that it serves.
func (f *Facts) unlisted() bool {
	return slices.ContainsFunc(f.Nodes, func(n upgrade.Node) bool { return !n.Lost(f.Now) && (n.Cut || n.Every == 0) })
}

func (f *Facts) drains(n *upgrade.Node) bool {
	_, ordered := f.Orders.Drained[n.Owner]
	return ordered || n.State != upgrade.Running
}

// unserved says what is known of an activity that no listed node serves.
func (f *Facts) unserved(task Task) Why {
	if f.unlisted() {
		return Why{Reason: Unknown, Text: "no node lists it, but one that runs does not list all that it serves"}
	}
	for i := range f.Nodes {
		if n := &f.Nodes[i]; !n.Lost(f.Now) && n.WouldServe(task.Queue, task.Name) {
			return Why{Next, fmt.Sprintf("no node has registered it; a fallback of node %s takes it when it has waited for half a minute", n.Owner), []string{n.Owner}}
		}
	}
	var lost, elsewhere []string
	live := 0
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Lost(f.Now) {
			if n.Serves(task.Queue, task.Name) {
				lost = append(lost, n.Owner)
			}
			continue
		}
		live++
		for _, q := range n.Queues {
			if q.Name != task.Queue && slices.Contains(q.Activities, task.Name) && !slices.Contains(elsewhere, q.Name) {
				elsewhere = append(elsewhere, q.Name)
			}
		}
	}
	text := fmt.Sprintf("no node serves queue %q with activity %s", task.Queue, task.Name)
	switch {
	case len(lost) > 0:
		text += ": those that did are lost, " + list(lost)
	case live == 0:
		text = "no node that runs is listed"
	case len(elsewhere) > 0:
		for i := range elsewhere {
			elsewhere[i] = strconv.Quote(elsewhere[i])
		}
		text += fmt.Sprintf("; nodes run it from queue %s: check WithQueue of the call and OnQueue of the registration", list(elsewhere))
	default:
		text += ": register it on a node, for this queue"
	}
	return Why{NoNode, text, lost}
}

// session says why a session holds a task back. held is the node that holds the session, if it takes work.
func (f *Facts) session(task Task, take []*upgrade.Node) (why Why, held *upgrade.Node) {
	if task.Holder != "" {
		at := slices.IndexFunc(take, func(n *upgrade.Node) bool { return n.Owner == task.Holder })
		if at >= 0 {
			return Why{}, take[at]
		}
		text := fmt.Sprintf("session %q is held by node %s, which %s", task.Session, task.Holder, f.state(task.Holder))
		return Why{Session, text, []string{task.Holder}}, nil
	}
	room := func(n *upgrade.Node) bool {
		return n.Load == nil || n.Load.SessionSlots == 0 || n.Load.Sessions < n.Load.SessionSlots
	}
	if slices.ContainsFunc(take, room) {
		return Why{}, nil
	}
	names := make([]string, len(take))
	for i, n := range take {
		names[i] = fmt.Sprintf("%s (%d of %d)", n.Owner, n.Load.Sessions, max(n.Load.SessionSlots, 0))
	}
	text := fmt.Sprintf("a session waits for a place: each node that serves queue %q holds as many sessions as it may, %s", task.Queue, list(names))
	if !slices.ContainsFunc(take, func(n *upgrade.Node) bool { return n.Load.SessionSlots > 0 }) {
		text = fmt.Sprintf("no node that serves queue %q takes sessions: option Sessions.Max is off", task.Queue)
	}
	return Why{Session, text, owners(take)}, nil
}

// state says what a node that does not take a task does.
func (f *Facts) state(owner string) string {
	for i := range f.Nodes {
		switch n := &f.Nodes[i]; {
		case n.Owner != owner:
		case n.Lost(f.Now):
			return "is lost"
		case f.drains(n):
			return "drains"
		default:
			return "does not serve the queue with this activity"
		}
	}
	return "is not listed"
}

// limit says whether a limit of the queue is reached.
func (f *Facts) limit(task Task, take []*upgrade.Node) Why {
	most, perSecond := 0, 0.0
	for _, n := range take {
		for _, q := range n.Queues {
			if q.Name != task.Queue {
				continue
			}
			if q.MaxConcurrent > 0 && (most == 0 || q.MaxConcurrent < most) {
				most = q.MaxConcurrent
			}
			perSecond = max(perSecond, q.PerSecond)
		}
	}
	if running := f.running(task.Queue); most > 0 && running >= most {
		return Why{Reason: Limit, Text: fmt.Sprintf("queue %q runs %d activities, and at most %d may run at the same time", task.Queue, running, most)}
	}
	// The next activity begins within an interval of that moment, and takes the moment with it.
	if next, known := f.Rates[task.Queue]; perSecond > 0 && known && next.Add(time.Duration(float64(time.Second)/perSecond)) > f.Now {
		return Why{Reason: Limit, Text: fmt.Sprintf("queue %q begins at most %v activities a second", task.Queue, perSecond)}
	}
	return Why{}
}

// running returns how many activities of a queue run on nodes, as these have written.
func (f *Facts) running(queue string) (n int) {
	for i := range f.Nodes {
		if load := f.Nodes[i].Load; load != nil && !f.Nodes[i].Lost(f.Now) {
			n += load.Queues[queue]
		}
	}
	return n
}

// full says whether nodes have no room.
func full(task Task, take []*upgrade.Node) Why {
	names := owners(take)
	busy := make([]string, 0, len(take))
	for _, n := range take {
		switch {
		case n.Load == nil:
		case n.Load.ActivitySlots > 0 && n.Load.Activities >= n.Load.ActivitySlots:
			busy = append(busy, fmt.Sprintf("%s (%d of %d slots)", n.Owner, n.Load.Activities, n.Load.ActivitySlots))
		case slices.Contains(n.Load.Full[task.Queue], task.Name):
			busy = append(busy, fmt.Sprintf("%s (the pool or limit of the activity is full)", n.Owner))
		}
	}
	if len(busy) == len(take) {
		return Why{Full, "no node that serves it has a free slot: " + list(busy), names}
	}
	return Why{Next, "it is next when a node that serves it has room: " + list(names), names}
}

func owners(nodes []*upgrade.Node) []string {
	names := make([]string, len(nodes))
	for i, n := range nodes {
		names[i] = n.Owner
	}
	return names
}

// maxNamed is how many nodes a text names.
const maxNamed = 5

// list joins names for people, the first few of them.
func list(names []string) string {
	if more := len(names) - maxNamed; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), more)
	}
	return strings.Join(names, ", ")
}
