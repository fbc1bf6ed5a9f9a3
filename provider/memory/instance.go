package memory

import (
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// An instance is its stored row and everything that belongs to it except tasks.
type instance struct {
	row        provider.Instance // without the fields that view fills
	executions []*execution      // execution n is at n-1
	inbox      []provider.Message
	inboxBytes int64
	attributes map[string]provider.Attribute
	values     map[string][]byte
	requests   []string // that delivered messages to it, the oldest first
	listener   *provider.Listener

	seal       seal
	acts       []string      // hashes of the last request IDs of Steer
	lease      provider.UUID // of the turn in flight; valid until another turn lease replaces it
	leaseOwner string
	leaseUntil provider.Time
	heldUntil  provider.Time // end of the delay of a clean release
	wokenAt    provider.Time // when a reset became ready without a message
	owner      string        // sticky
	ownerUntil provider.Time
}

type execution struct {
	events [][]byte
	bytes  int64
	status provider.Status // of an old execution, 0 once it is trimmed; the current one has the row's status
	ended  provider.Time   // of an old execution
}

func (x *execution) add(events ...[]byte) {
	for _, e := range events {
		x.events = append(x.events, slices.Clone(e))
		x.bytes += int64(len(e))
	}
}

func (i *instance) execution() *execution { return i.executions[i.row.Execution-1] }

// open starts the next execution. The messages that wait may need the level of the last one.
func (i *instance) open(level int64, events [][]byte) {
	x := &execution{}
	x.add(events...)
	i.executions = append(i.executions, x)
	i.row.Execution++
	if len(i.inbox) > 0 {
		level = max(level, i.row.EngineLevel)
	}
	i.row.EngineLevel = level
}

// keepInbox returns a function that undoes what messages change.
func (i *instance) keepInbox() (restore func()) {
	inbox, bytes, requests, level := slices.Clone(i.inbox), i.inboxBytes, slices.Clone(i.requests), i.row.EngineLevel
	return func() { i.inbox, i.inboxBytes, i.requests, i.row.EngineLevel = inbox, bytes, requests, level }
}

// status returns the status of execution n, 0 if there is none.
func (i *instance) status(n int64) provider.Status {
	switch {
	case n < 1 || n > int64(len(i.executions)):
		return 0
	case n == i.row.Execution:
		return i.row.Status
	default:
		return i.executions[n-1].status
	}
}

// readyAt is the instant from which a turn has work, 0 for never.
func (i *instance) readyAt() provider.Time {
	if len(i.inbox) == 0 {
		return i.wokenAt
	}
	return sooner(i.wokenAt, i.inbox[0].VisibleAt)
}

// view returns the row as callers see it: complete and without shared memory.
func (i *instance) view() provider.Instance {
	v := i.row
	v.HistoryLength = int64(len(i.execution().events))
	v.HistoryBytes = i.execution().bytes
	v.ReadyAt = i.readyAt()
	v.InboxMessages = int64(len(i.inbox))
	v.CustomStatus = slices.Clone(v.CustomStatus)
	v.Result, v.Excerpt = slices.Clone(v.Result), slices.Clone(v.Excerpt)
	if v.Blocked != nil {
		blocked := *v.Blocked
		v.Blocked = &blocked
	}
	v.Attributes = slices.SortedFunc(maps.Values(i.attributes), func(a, b provider.Attribute) int {
		return strings.Compare(a.Name, b.Name)
	})
	return v
}

func (i *instance) setAttributes(list []provider.Attribute) {
	for _, a := range list {
		i.attributes[a.Name] = a
	}
}

// setValues stores key-values. A nil one removes its key.
func (i *instance) setValues(list []provider.KeyValue) {
	for _, v := range list {
		if v.Value == nil {
			delete(i.values, v.Key)
		} else {
			i.values[v.Key] = slices.Clone(v.Value)
		}
	}
}
