package simulation

import (
	"fmt"
	"math/rand/v2"
)

// The kinds of nodes.
const (
	nodeNewer   = "newer"   // of this release, with both versions of the code
	nodeOlder   = "older"   // of the level before, with the first version only
	nodeEvicted = "evicted" // of this release, and keeps no execution in memory between turns
)

// The acts of operators.
const (
	actSuspend   = "suspend" // for some seconds
	actCancel    = "cancel"
	actTerminate = "terminate"
	actReset     = "reset"
	actMove      = "move"  // to the second version
	actRetry     = "retry" // pending activities begin another attempt
)

// Workload is all that nodes, clients and operators do in a run, apart from what is decided at the gate.
type Workload struct {
	Nodes     []string   `json:"nodes"`
	Instances []Instance `json:"instances"`
	Fresh     bool       `json:"fresh,omitempty"`   // the first node finds a store that none has used
	Figures   bool       `json:"figures,omitempty"` // nodes keep figures over time, whose calls would be most of a seed
	Ahead     int        `json:"ahead,omitempty"`   // seconds by which the store's clock is ahead of that of the nodes
}

// Instance is an instance that clients start and talk to.
type Instance struct {
	ID      string   `json:"id"`
	Version string   `json:"version"`
	Plan    Plan     `json:"plan"`
	Eager   bool     `json:"eager,omitempty"` // its first client starts it through a node
	Clients [][]Send `json:"clients"`         // what each of its clients sends, in order; each starts the instance first
	Act     string   `json:"act,omitempty"`
	ActAt   int      `json:"actAt,omitempty"` // seconds from the start
	For     int      `json:"for,omitempty"`   // seconds, or what the act needs to know
}

// Send is one call of a client.
type Send struct {
	Do    string `json:"do"`
	N     int    `json:"n,omitempty"`     // number of the event, note or update
	After int    `json:"after,omitempty"` // seconds to wait before
	Twice bool   `json:"twice,omitempty"` // repeats the call, as after a lost reply
}

// What clients send.
const (
	sendEvent  = "event" // for the code to take
	sendNote   = "note"  // an event with a handler
	sendUpdate = "update"
	sendView   = "view" // a query that must show the last note and update of this client
)

// draw draws the workload of a seed.
func draw(r *rand.Rand) Workload {
	w := Workload{Nodes: []string{nodeNewer}}
	for range 1 + r.IntN(2) {
		w.Nodes = append(w.Nodes, []string{nodeNewer, nodeOlder, nodeEvicted}[r.IntN(3)])
	}
	if r.IntN(3) == 0 {
		w.Ahead = []int{7, 100, 3600}[r.IntN(3)]
	}
	w.Fresh = r.IntN(4) == 0
	for i := range 1 + r.IntN(4) {
		w.Instances = append(w.Instances, drawInstance(r, fmt.Sprint("i", i)))
	}
	w.Figures = r.IntN(4) == 0
	return w
}

func drawInstance(r *rand.Rand, id string) Instance {
	in := Instance{ID: id, Version: fmt.Sprint(1 + r.IntN(2))}
	in.Act = []string{"", "", "", actSuspend, actSuspend, actCancel, actTerminate, actReset, actMove, actRetry}[r.IntN(10)]
	in.Eager = r.IntN(2) == 0
	in.ActAt, in.For = r.IntN(15), 1+r.IntN(9)
	in.Plan = drawPlan(r, 2, in.Act)
	for c := range 1 + r.IntN(3) {
		var sends []Send
		for range r.IntN(5) {
			s := Send{Do: []string{sendEvent, sendNote, sendUpdate, sendView}[r.IntN(4)], Twice: r.IntN(3) == 0}
			if r.IntN(2) == 0 {
				s.After = r.IntN(6)
			}
			if s.Do == sendUpdate && in.Act == actReset {
				s.Do = sendEvent // a reset discards updates, and nobody would send them again
			}
			switch s.Do {
			case sendNote:
				in.Plan.Notes++
				s.N = in.Plan.Notes
			case sendEvent:
				in.Plan.Events++
				s.N = in.Plan.Events
			case sendUpdate:
				in.Plan.Updates++
				s.N = in.Plan.Updates
			}
			sends = append(sends, s)
		}
		if c == 0 || len(sends) > 0 {
			in.Clients = append(in.Clients, sends)
		}
	}
	in.fit()
	return in
}

// fit makes the plan take no more events than are sent.
func (i *Instance) fit() {
	room := i.Plan.Events
	for n, s := range i.Plan.Steps {
		if s.Do != doTake {
			continue
		}
		if room--; room < 0 {
			i.Plan.Steps[n] = Step{Do: doSleep, N: 1}
		}
	}
}

// drawPlan draws what code does. A reset repeats the steps after its point: children would be started twice.
func drawPlan(r *rand.Rand, depth int, act string) (p Plan) {
	does := []string{doCall, doCall, doLocal, doOnce, doFan, doFlaky, doPark, doSleep, doSleep, doWithin, doGiveUp, doNext}
	if depth == 2 {
		does = append(does, doTake, doTake)
	}
	if depth == 2 && (act == "" || act == actSuspend || act == actMove || act == actRetry) { // nobody ends what it has started
		does = append(does, doAway)
	}
	if depth > 0 && act != actReset {
		does = append(does, doChild, doChild)
	}
	for range r.IntN(6) {
		s := Step{Do: does[r.IntN(len(does))], N: r.IntN(8)}
		if s.Do == doChild {
			child := drawPlan(r, depth-1, act)
			s.Child = &child
		}
		p.Steps = append(p.Steps, s)
	}
	if depth == 2 && (act == actCancel || act == actTerminate) && r.IntN(2) == 0 {
		p.Steps = append(p.Steps, Step{Do: doNever})
	}
	return p
}
