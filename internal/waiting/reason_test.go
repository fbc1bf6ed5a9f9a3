package waiting

import (
	"bytes"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

var now = provider.TimeOf(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

// node returns a node that serves queue "mail" with activity "Send" and has free slots.
func node(owner string, change ...func(n *upgrade.Node)) upgrade.Node {
	n := upgrade.Node{
		Owner: owner, Release: upgrade.Release(), Every: 60, Renewed: now, Queues: []upgrade.Queue{{Name: "mail", Activities: []string{"Send"}}},
		Load: &upgrade.Load{ActivitySlots: 2, SessionSlots: 2},
	}
	for _, c := range change {
		c(&n)
	}
	return n
}

func lost(n *upgrade.Node)   { n.Renewed = now.Add(-time.Hour / 2) }
func drains(n *upgrade.Node) { n.State = upgrade.Draining }
func noSlot(n *upgrade.Node) { n.Load.Activities = 2 }
func packed(n *upgrade.Node) { n.Load.Sessions = 2 }
func other(n *upgrade.Node)  { n.Queues[0].Name = "default" }
func busy(n *upgrade.Node)   { n.Load.Queues = map[string]int{"mail": 1} }
func cut(n *upgrade.Node)    { n.Cut = true }
func atMostTwo(n *upgrade.Node) {
	n.Queues[0].MaxConcurrent = 2
}

func TestWhy(t *testing.T) {
	t.Parallel()
	plain, inSession := Task{Queue: "mail", Name: "Send"}, Task{Queue: "mail", Name: "Send", Session: "s"}
	held := inSession
	held.Holder = "a"
	paused := control.Orders{Paused: map[string]control.Order{"mail": {At: now}}}
	for _, c := range []struct {
		name   string
		facts  Facts
		task   Task
		reason Reason
		text   string
	}{
		{"a node has room", Facts{Nodes: []upgrade.Node{node("a", noSlot), node("b")}}, plain, Next, "a, b"},
		{"the queue is paused", Facts{Nodes: []upgrade.Node{node("a", noSlot)}, Orders: paused}, plain, Paused, `queue "mail" is paused since 2026-01-02T03:04:05Z`},
		{"no node", Facts{}, plain, NoNode, "no node that runs is listed"},
		{"another queue", Facts{Nodes: []upgrade.Node{node("a", other)}}, plain, NoNode, `from queue "default": check WithQueue of the call and OnQueue`},
		{"another activity", Facts{Nodes: []upgrade.Node{node("a")}}, Task{Queue: "mail", Name: "Print"}, NoNode, `serves queue "mail" with activity Print: register`},
		{"the node is lost", Facts{Nodes: []upgrade.Node{node("a", lost), node("b", other)}}, plain, NoNode, "lost, a"},
		{"a node does not list all", Facts{Nodes: []upgrade.Node{node("a", other, cut)}}, plain, Unknown, "does not list"},
		{"all nodes drain", Facts{Nodes: []upgrade.Node{node("a", drains), node("b", other)}}, plain, Draining, "drain: a"},
		{"an order to drain", Facts{
			Nodes: []upgrade.Node{node("a")}, Orders: control.Orders{Drained: map[string]control.Order{"a": {}}},
		}, plain, Draining, "drain: a"},
		{"a node drains and another is full", Facts{Nodes: []upgrade.Node{node("a", drains), node("b", noSlot)}}, plain, Full, "b (2 of 2 slots)"},
		{"the activity's own limit", Facts{Nodes: []upgrade.Node{node("a", func(n *upgrade.Node) {
			n.Load.Full = map[string][]string{"mail": {"Send"}}
		})}}, plain, Full, "a (the pool or limit of the activity is full)"},
		{"the queue's limit", Facts{Nodes: []upgrade.Node{node("a", busy, atMostTwo), node("b", busy)}}, plain, Limit, "runs 2 activities, and at most 2"},
		{"below the queue's limit", Facts{Nodes: []upgrade.Node{node("a", busy, atMostTwo), node("b", busy, lost)}}, plain, Next, ""},
		{"the queue's rate", Facts{
			Nodes: []upgrade.Node{node("a", func(n *upgrade.Node) { n.Queues[0].PerSecond = 0.5 })}, Rates: map[string]provider.Time{"mail": now.Add(-time.Second)},
		}, plain, Limit, "at most 0.5 activities a second"},
		{"below the queue's rate", Facts{
			Nodes: []upgrade.Node{node("a", func(n *upgrade.Node) { n.Queues[0].PerSecond = 0.5 })}, Rates: map[string]provider.Time{"mail": now.Add(-time.Hour)},
		}, plain, Next, ""},
		{"sessions are full", Facts{Nodes: []upgrade.Node{node("a", packed), node("b", packed)}}, inSession, Session, "waits for a place"},
		{"sessions are full, and it has none", Facts{Nodes: []upgrade.Node{node("a", packed)}}, plain, Next, ""},
		{"a session finds a place", Facts{Nodes: []upgrade.Node{node("a", packed), node("b")}}, inSession, Next, ""},
		{"sessions are off", Facts{Nodes: []upgrade.Node{node("a", func(n *upgrade.Node) { n.Load.SessionSlots = -1 })}}, inSession, Session, "Sessions.Max is off"},
		{"a release that tells no sessions", Facts{Nodes: []upgrade.Node{node("a", func(n *upgrade.Node) { n.Load.SessionSlots = 0 })}}, inSession, Next, ""},
		{"the holder has room", Facts{Nodes: []upgrade.Node{node("a", packed), node("b")}}, held, Next, "room: a"},
		{"the holder is full", Facts{Nodes: []upgrade.Node{node("a", noSlot, packed), node("b")}}, held, Full, "a (2 of 2 slots)"},
		{"the holder drains", Facts{Nodes: []upgrade.Node{node("a", drains), node("b")}}, held, Session, "a, which drains"},
		{"the holder is lost", Facts{Nodes: []upgrade.Node{node("a", lost), node("b")}}, held, Session, "a, which is lost"},
		{"the holder is unknown", Facts{Nodes: []upgrade.Node{node("b")}}, held, Session, "a, which is not listed"},
		{"perdure's own queue", Facts{Nodes: []upgrade.Node{node("a")}}, Task{Queue: reserved.Queue, Name: "x"}, Next, ""},
	} {
		c.facts.Now = now
		if why := c.facts.Why(c.task); why.Reason != c.reason || !strings.Contains(why.Text, c.text) {
			t.Errorf("%s: %+v, want %s with %q", c.name, why, c.reason, c.text)
		}
	}
}

func TestLongListsAreCut(t *testing.T) {
	t.Parallel()
	f := Facts{Now: now}
	for n := range 20 {
		f.Nodes = append(f.Nodes, node(fmt.Sprint("n", n)))
	}
	if why := f.Why(Task{Queue: "mail", Name: "Send"}); len(why.Nodes) != 20 || !strings.HasSuffix(why.Text, "n4 and 15 more") {
		t.Errorf("%+v", why)
	}
}

// An alarm tells of each activity once, and again after a node has served it.
func TestAlarm(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	alarm, at := Alarm{}, now
	look := func(nodes []upgrade.Node, tasks ...provider.WaitingTasks) (lines int) {
		log.Reset()
		at = at.Add(Patience)
		f := Facts{Now: at, Nodes: slices.Clone(nodes)}
		for i := range f.Nodes {
			f.Nodes[i].Renewed = at
		}
		alarm.Check(&f, tasks, logger)
		return strings.Count(log.String(), "level=WARN")
	}
	waits := func(of Task, since time.Duration) provider.WaitingTasks {
		w := provider.WaitingTasks{Queue: of.Queue, Name: of.Name, Count: 3, Oldest: at.Add(Patience - since)}
		if of.Session != "" {
			w.InSession = 2
		}
		return w
	}
	want := func(what string, lines, n int) {
		t.Helper()
		if lines != n {
			t.Errorf("%s: %d lines, want %d: %s", what, lines, n, log.String())
		}
	}
	task, elsewhere := Task{Queue: "mail", Name: "Send"}, []upgrade.Node{node("a", other)}
	want("before its time", look(elsewhere, waits(task, Patience-1)), 0)
	want("in time", look(elsewhere, waits(task, Patience)), 1)
	if !strings.Contains(log.String(), "queue=mail activity=Send waiting=3") || !strings.Contains(log.String(), "OnQueue") {
		t.Errorf("the line is %s", log.String())
	}
	want("again", look(elsewhere, waits(task, time.Minute)), 0)
	want("another activity", look(elsewhere, waits(task, time.Minute), waits(Task{Queue: "mail", Name: "Print"}, time.Minute)), 1)
	want("without a node in between", look(elsewhere), 0)
	want("after that", look(elsewhere, waits(task, time.Minute)), 0)
	want("with a node", look([]upgrade.Node{node("b")}), 0)
	want("without it again", look(elsewhere, waits(task, time.Minute)), 1)

	s := Task{Queue: "mail", Name: "Send", Session: "s"}
	want("a session, at once", look([]upgrade.Node{node("a", packed)}, waits(s, time.Minute)), 0)
	want("a session, ten seconds later", look([]upgrade.Node{node("a", packed)}, waits(s, time.Minute)), 1)
	want("a session, after that", look([]upgrade.Node{node("a", packed)}, waits(s, time.Minute)), 0)
	want("a session has a place", look([]upgrade.Node{node("a")}, waits(s, time.Minute)), 0)
}

// Of several nodes one looks. Those of another release may not.
func TestOneNodeLooks(t *testing.T) {
	t.Parallel()
	f := Facts{Now: now, Nodes: []upgrade.Node{
		node("a", func(n *upgrade.Node) { n.Release = "v0.0.1" }), node("b", lost), node("c"), node("d"),
	}}
	if f.first("d") || !f.first("c") || f.first("unlisted") {
		t.Errorf("c %v, d %v", f.first("c"), f.first("d"))
	}
}
