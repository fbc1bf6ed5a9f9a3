package relational

import "github.com/perdure/perdure/provider"

// Needs are the rows that a call will look at, as far as its request tells. A store that
// pays for every round trip reads and locks them at once; another may ignore them.
type Needs struct {
	Keys   []provider.UUID    // instances
	Peek   []provider.UUID    // instances that are only read
	IDs    []string           // instances under an ID
	Inbox  []InboxNeed        // messages
	Tasks  []provider.TaskRef // tasks
	Timers []provider.TaskRef // timers, named by what scheduled them
	Lanes  []Lane             // where new tasks take turns

	Completes int // the first ones of Tasks, of which only the token counts
}

// InboxNeed is what a call looks at of an inbox: the named messages, and the first ones besides.
type InboxNeed struct {
	Key   provider.UUID
	Named []int64
	First int // how many of the first messages, beside the named ones and the cancelled timers
}

// ClosingLook is how many messages a commit that ends an execution looks at.
const ClosingLook = 1000

// CreateNeeds are those of Create.
func CreateNeeds(req *provider.CreateRequest) Needs {
	n := Needs{Keys: []provider.UUID{req.Key}, IDs: []string{req.ID}}
	if !req.Parent.Key.IsZero() {
		n.Keys = append(n.Keys, req.Parent.Key)
	}
	if req.First != nil {
		turn := CommitNeeds(req.First)
		n.Add(&turn)
	}
	return n
}

// NamedNeeds are those of a call that names one instance.
func NamedNeeds(id string, key provider.UUID) Needs {
	if key.IsZero() {
		return Needs{IDs: []string{id}}
	}
	return Needs{Keys: []provider.UUID{key}}
}

// CommitNeeds are those of CommitTurn.
func CommitNeeds(req *provider.CommitTurnRequest) Needs {
	n := Needs{Keys: []provider.UUID{req.Key}}
	ref := func(event int64) provider.TaskRef {
		return provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: event}
	}
	for _, c := range req.Completes {
		n.Tasks = append(n.Tasks, ref(c.EventID))
	}
	n.Completes = len(n.Tasks)
	for _, c := range req.CancelTasks {
		n.Tasks = append(n.Tasks, ref(c.EventID))
	}
	for i := range req.Tasks {
		if of, ok := lane(&req.Tasks[i]); ok {
			n.Lanes = append(n.Lanes, of)
		}
	}
	for _, event := range req.CancelTimers {
		n.Timers = append(n.Timers, ref(event))
	}
	for i := range req.Sends {
		more := NamedNeeds(req.Sends[i].ID, req.Sends[i].Key)
		n.Keys, n.IDs = append(n.Keys, more.Keys...), append(n.IDs, more.IDs...)
	}
	for i := range req.Starts {
		more := CreateNeeds(&req.Starts[i].Create)
		n.Keys, n.IDs = append(n.Keys, more.Keys...), append(n.IDs, more.IDs...)
	}
	ending := req.Status.Ended() || req.Next != nil
	if ending || len(req.Consumed)+len(req.CancelTimers) > 0 {
		look := InboxNeed{Key: req.Key, Named: req.Consumed, First: 1}
		if ending {
			look.First = ClosingLook
		}
		n.Inbox = []InboxNeed{look}
	}
	return n
}

// ReportNeeds are those of ReportTasks.
func ReportNeeds(req *provider.ReportTasksRequest) Needs {
	var n Needs
	for i := range req.Items {
		if ref := req.Items[i].TaskRef; ref != (provider.TaskRef{}) {
			n.Keys, n.Tasks = append(n.Keys, ref.Key), append(n.Tasks, ref)
		}
	}
	return n
}

// RenewNeeds are those of RenewTasks.
func RenewNeeds(req *provider.RenewTasksRequest) Needs {
	var n Needs
	for i := range req.Items {
		n.Peek, n.Tasks = append(n.Peek, req.Items[i].Key), append(n.Tasks, req.Items[i].TaskRef)
	}
	return n
}

// Add adds what another call needs.
func (n *Needs) Add(more *Needs) {
	n.Keys, n.Peek, n.IDs = append(n.Keys, more.Keys...), append(n.Peek, more.Peek...), append(n.IDs, more.IDs...)
	n.Inbox, n.Tasks, n.Timers = append(n.Inbox, more.Inbox...), append(n.Tasks, more.Tasks...), append(n.Timers, more.Timers...)
	n.Lanes = append(n.Lanes, more.Lanes...)
}

// ReleaseNeeds are those of ReleaseTurns.
func ReleaseNeeds(req *provider.ReleaseTurnsRequest) Needs {
	var n Needs
	for i := range req.Items {
		if !req.Items[i].Key.IsZero() {
			n.Keys = append(n.Keys, req.Items[i].Key)
		}
	}
	return n
}
