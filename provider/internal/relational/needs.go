package relational

import "github.com/perdure/perdure/provider"

// Needs are the rows that a call will read, as far as its request shows. A store that pays for round trips reads and
// locks them at once. Others ignore them.
type Needs struct {
	Keys   []provider.UUID    // instances
	Peek   []provider.UUID    // instances that are read and not locked
	IDs    []string           // IDs of instances
	Inbox  []InboxNeed        // messages
	Tasks  []provider.TaskRef // tasks
	Timers []provider.TaskRef // timers, by the events that scheduled them
	Lanes  []Lane             // lanes of new tasks

	Completes int // how many of Tasks, the first ones, only need a check of their token
}

// InboxNeed is the part of an inbox that a call reads: the named messages, and the first other ones.
type InboxNeed struct {
	Key   provider.UUID
	Named []int64
	First int // how many messages in addition to the named ones and the cancelled timers
}

// ClosingMessages is how many messages a commit that ends an execution reads.
const ClosingMessages = 1000

// CreateNeeds returns the needs of Create.
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

// NamedNeeds returns the needs of a call that names one instance.
func NamedNeeds(id string, key provider.UUID) Needs {
	if key.IsZero() {
		return Needs{IDs: []string{id}}
	}
	return Needs{Keys: []provider.UUID{key}}
}

// CommitNeeds returns the needs of CommitTurn.
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
		need := InboxNeed{Key: req.Key, Named: req.Consumed, First: 1}
		if ending {
			need.First = ClosingMessages
		}
		n.Inbox = []InboxNeed{need}
	}
	return n
}

// ReportNeeds returns the needs of ReportTasks.
func ReportNeeds(req *provider.ReportTasksRequest) Needs {
	var n Needs
	for i := range req.Items {
		if ref := req.Items[i].TaskRef; req.Items[i].Outcome != provider.TaskReleaseAll {
			n.Keys, n.Tasks = append(n.Keys, ref.Key), append(n.Tasks, ref)
		}
	}
	return n
}

// RenewNeeds returns the needs of RenewTasks.
func RenewNeeds(req *provider.RenewTasksRequest) Needs {
	var n Needs
	for i := range req.Items {
		n.Peek, n.Tasks = append(n.Peek, req.Items[i].Key), append(n.Tasks, req.Items[i].TaskRef)
	}
	return n
}

// Add adds the needs of another call.
func (n *Needs) Add(more *Needs) {
	n.Keys, n.Peek, n.IDs = append(n.Keys, more.Keys...), append(n.Peek, more.Peek...), append(n.IDs, more.IDs...)
	n.Inbox, n.Tasks, n.Timers = append(n.Inbox, more.Inbox...), append(n.Tasks, more.Tasks...), append(n.Timers, more.Timers...)
	n.Lanes = append(n.Lanes, more.Lanes...)
}

// ReleaseNeeds returns the needs of ReleaseTurns.
func ReleaseNeeds(req *provider.ReleaseTurnsRequest) Needs {
	var n Needs
	for i := range req.Items {
		if req.Items[i].Kind != provider.ReleaseToken {
			n.Keys = append(n.Keys, req.Items[i].Key)
		}
	}
	return n
}
