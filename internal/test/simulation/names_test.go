package simulation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// names give keys a name that is the same in each run. Keys are drawn at random.
type names struct {
	ofKey map[provider.UUID]string
	taken map[string]int
}

func newNames() *names {
	return &names{ofKey: make(map[provider.UUID]string), taken: make(map[string]int)}
}

// id returns an instance ID without the key of a parent.
func (n *names) id(id string) string {
	if len(id) > 36 && id[36] == '/' {
		var key provider.UUID
		if key.UnmarshalText([]byte(id[:36])) == nil {
			return n.key(key) + id[36:]
		}
	}
	return id
}

func (n *names) key(key provider.UUID) string { return cmp.Or(n.ofKey[key], "?") }

// target returns the name of the instance that a request names.
func (n *names) target(id string, key provider.UUID) string {
	if key != (provider.UUID{}) {
		return n.key(key)
	}
	return n.id(id)
}

// add gives a key a name.
func (n *names) add(id string, key provider.UUID) {
	if n.ofKey[key] != "" {
		return
	}
	name := n.id(id)
	if n.taken[name]++; n.taken[name] > 1 {
		name += fmt.Sprint("~", n.taken[name])
	}
	n.ofKey[key] = name
}

// learn names the instances that a request makes.
func (n *names) learn(req any) {
	switch req := req.(type) {
	case provider.CreateRequest:
		n.add(req.ID, req.Key)
		if req.First != nil {
			n.learn(*req.First)
		}
	case provider.CommitTurnRequest:
		for i := range req.Starts {
			n.add(req.Starts[i].Create.ID, req.Starts[i].Create.Key)
		}
	case provider.ForkRequest:
		n.add(req.Create.ID, req.Create.Key)
	}
}

func (n *names) task(ref provider.TaskRef) string {
	return fmt.Sprintf("%s/%d/%d", n.key(ref.Key), ref.Execution, ref.EventID)
}

// label describes a call. Drawn IDs and times are left out: they differ between runs.
func (n *names) label(c *call) string {
	text := c.op
	switch req := c.req.(type) {
	case string:
		text += " " + req
	case provider.CreateRequest:
		text += fmt.Sprintf(" %s messages=%d first=%t", n.id(req.ID), len(req.Messages), req.First != nil)
	case provider.GetRequest:
		text += fmt.Sprintf(" %s ended=%t value=%t/%s old=%d tasks=%t values=%t",
			n.target(req.ID, req.Key), req.WaitEnded, req.WaitValue, req.Value, len(req.OldValue), req.WithTasks, req.WithValues)
	case provider.SteerRequest:
		text += fmt.Sprintf(" %s action=%d", n.target(req.ID, req.Key), req.Action)
	case provider.FetchTurnsRequest:
		text += fmt.Sprintf(" max=%d ahead=%v", req.Max, req.Ahead)
	case provider.CommitTurnRequest:
		text += n.commit(&req)
	case provider.ReleaseTurnsRequest:
		items := make([]string, len(req.Items))
		for i := range req.Items {
			items[i] = fmt.Sprintf("%d:%s", req.Items[i].Kind, n.key(req.Items[i].Key))
		}
		text += " " + joined(items)
	case provider.FetchTasksRequest:
		text += fmt.Sprintf(" max=%d expired=%t queues=%d", req.Max, req.Expired, len(req.Queues))
	case provider.ReportTasksRequest:
		items := make([]string, len(req.Items))
		for i := range req.Items {
			items[i] = fmt.Sprintf("%d:%s#%d", req.Items[i].Outcome, n.task(req.Items[i].TaskRef), req.Items[i].Attempt)
		}
		text += " " + joined(items)
	case provider.RenewTasksRequest:
		items := make([]string, len(req.Items))
		for i := range req.Items {
			items[i] = n.task(req.Items[i].TaskRef)
		}
		text += " " + joined(items)
	case provider.SendRequest:
		text += fmt.Sprintf(" %s kind=%d", n.target(req.ID, req.Key), req.Message.Kind)
	case provider.AskRequest:
		text += " " + n.target(req.ID, req.Key)
	case provider.ReadHistoryRequest:
		text += fmt.Sprintf(" %s/%d from=%d", n.key(req.Key), req.Execution, req.From)
	case provider.ResetRequest:
		text += fmt.Sprintf(" %s events=%d", n.target(req.ID, req.Key), len(req.Prefix.Events))
	case provider.RecordRequest:
		text += fmt.Sprintf(" action=%d %s", req.Action, req.Namespace)
	case provider.LeaseRequest:
		text += fmt.Sprintf(" action=%d %s", req.Action, req.Name)
	}
	if c.reply {
		text += " (reply)"
	}
	return text
}

// commit describes a turn.
func (n *names) commit(req *provider.CommitTurnRequest) string {
	return fmt.Sprintf(" %s/%d length=%d+%d consumed=%d completes=%d tasks=%d-%d timers=%d-%d sends=%d starts=%d values=%d status=%v next=%t",
		n.key(req.Key), req.Execution, req.Length, len(req.Events), len(req.Consumed), len(req.Completes), len(req.Tasks), len(req.CancelTasks),
		len(req.Timers), len(req.CancelTimers), len(req.Sends), len(req.Starts), len(req.Values), req.Status, req.Next != nil)
}

// joined joins items whose order does not count.
func joined(items []string) string {
	slices.Sort(items)
	return strings.Join(items, ",")
}
