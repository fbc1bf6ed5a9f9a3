package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/control"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/internal/waiting"
	"github.com/perdure/perdure/provider"
)

// QueueInfo is the state of a queue of activities. Times are UTC by the storage's clock.
type QueueInfo struct {
	Queue   string    `json:"queue"`
	Waiting int64     `json:"waiting"`          // activities that could run and that no node has taken
	Oldest  time.Time `json:"oldest,omitzero"`  // since when the oldest of them waits
	Running int       `json:"running"`          // activities on nodes, as these have written within the last minute
	Nodes   []string  `json:"nodes,omitempty"`  // owners of the nodes that serve it, as far as they list their queues
	Paused  *Order    `json:"paused,omitempty"` // nil: it is not
	// Unserved are activities that wait in it and that no listed node runs, by name. It is empty if a node lists no queues, or not all.
	Unserved []string `json:"unserved,omitempty"`
	// NotBegun says for each activity that waits in the queue why it has not begun, by name.
	NotBegun []WaitingActivity `json:"notBegun,omitempty"`
}

// WaitingActivity is an activity that waits in a queue, with the number of calls that wait.
type WaitingActivity struct {
	Activity  string          `json:"activity"`
	Waiting   int64           `json:"waiting"`
	InSession int64           `json:"inSession,omitempty"` // of Waiting: calls with a session
	Oldest    time.Time       `json:"oldest,omitzero"`     // since when the oldest call waits
	NotBegun  client.NotBegun `json:"notBegun"`
}

// Queues returns the queues of activities in which something waits or runs, that a node serves, or that are paused, by name. Figures
// may be some seconds old. Perdure's own queue is not in it.
//
// A store without provider.Meter or provider.Keeper cannot tell: the error wraps errors.ErrUnsupported.
func (o *Operator) Queues(ctx context.Context) ([]QueueInfo, error) {
	const op = "listing queues"
	if err := o.usable(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", op, err)
	}
	facts, err := access.Read(ctx, o.caller.Store, op, waiting.Read, provider.Keeper(o.caller.Store))
	if err != nil {
		return nil, access.Explain(op, 0, err)
	}
	stats, err := access.Read(ctx, o.caller.Store, op, o.caller.Store.Stats, provider.StatsRequest{Waiting: true})
	if err != nil {
		return nil, access.Explain(op, 0, err)
	}
	q := queues{byName: make(map[string]*QueueInfo), runs: make(map[[2]string]bool)}
	q.nodes(facts.Nodes, facts.Now)
	q.waiting(stats.Tasks, &facts)
	for name, order := range facts.Orders.Paused {
		q.of(name).Paused = &Order{Reason: order.Reason, By: order.By, At: order.At.Std()}
	}
	delete(q.byName, reserved.Queue)
	all := make([]QueueInfo, 0, len(q.byName))
	for _, name := range slices.Sorted(maps.Keys(q.byName)) {
		all = append(all, *q.byName[name])
	}
	return all, nil
}

// queues gathers what is known of queues.
type queues struct {
	byName  map[string]*QueueInfo
	runs    map[[2]string]bool // by queue and activity: a node runs it
	unknown bool               // a node does not list all that it runs
}

func (q *queues) of(name string) *QueueInfo {
	if q.byName[name] == nil {
		q.byName[name] = &QueueInfo{Queue: name}
	}
	return q.byName[name]
}

// nodes adds what nodes serve and run.
func (q *queues) nodes(nodes []upgrade.Node, now provider.Time) {
	for i := range nodes {
		n := &nodes[i]
		if n.Lost(now) {
			continue
		}
		q.unknown = q.unknown || n.Cut || n.Every == 0
		for _, served := range n.Queues {
			info := q.of(served.Name)
			info.Nodes = append(info.Nodes, n.Owner)
			for _, activity := range served.Activities {
				q.runs[[2]string{served.Name, activity}] = true
			}
		}
		if n.Fallbacks != nil {
			for _, taken := range n.Fallbacks.Queues { // the node lists the queue itself, without them
				for _, activity := range taken.Activities {
					q.runs[[2]string{taken.Name, activity}] = true
				}
			}
		}
		if n.Load != nil {
			for name, running := range n.Load.Queues {
				q.of(name).Running += running
			}
		}
	}
}

// waiting adds what waits, and why.
func (q *queues) waiting(tasks []provider.WaitingTasks, facts *waiting.Facts) {
	for i := range tasks {
		w := &tasks[i]
		info := q.of(w.Queue)
		info.Waiting += w.Count
		if oldest := w.Oldest.Std(); info.Oldest.IsZero() || oldest.Before(info.Oldest) {
			info.Oldest = oldest
		}
		if !q.unknown && !q.runs[[2]string{w.Queue, w.Name}] {
			info.Unserved = append(info.Unserved, w.Name)
			slices.Sort(info.Unserved)
		}
		info.NotBegun = append(info.NotBegun, WaitingActivity{
			Activity: w.Name, Waiting: w.Count, InSession: w.InSession, Oldest: w.Oldest.Std(), NotBegun: notBegun(facts.WhyAll(w)),
		})
	}
}

// notBegun returns a reason as callers see it.
func notBegun(why waiting.Why) client.NotBegun {
	return client.NotBegun{Reason: client.NotBegunReason(why.Reason), Text: why.Text, Nodes: why.Nodes}
}

var errOwnQueue = errors.New("it is perdure's own, for schedules and bulk jobs: pause those one by one")

// PauseQueue stops a queue of activities on all nodes: within five seconds, no activity of it begins, neither from the queue nor within a turn.
// Running ones go on to their end. Activities that are called meanwhile wait in the queue, and their time limits go on. Other queues are not
// delayed. A node that starts later obeys from its first fetch. A queue that is paused keeps its first reason.
//
// The call returns when the order is stored and the nodes that serve the queue have confirmed it, after 6 s at the latest (see ConfirmWithin).
// The Confirmation names those that have not. The name of the queue need not be known. The reason is for people, at most 4 KiB, and may
// be empty.
//
// Errors: client.ErrInvalid; client.ErrTooLarge for more than 1,000 paused queues; errors.ErrUnsupported of a store without provider.Keeper;
// client.ErrOutcomeUnknown; or the error of ctx.
func (o *Operator) PauseQueue(ctx context.Context, queue, reason string, opts ...OrderOption) (Confirmation, error) {
	return o.orderQueue(ctx, "pausing", queue, reason, opts, func(all *control.Orders, by control.Order) { all.Pause(queue, by) })
}

// ResumeQueue ends PauseQueue. A queue that is not paused stays as it is. The Confirmation and errors are those of PauseQueue.
func (o *Operator) ResumeQueue(ctx context.Context, queue, reason string, opts ...OrderOption) (Confirmation, error) {
	return o.orderQueue(ctx, "resuming", queue, reason, opts, func(all *control.Orders, _ control.Order) { delete(all.Paused, queue) })
}

func (o *Operator) orderQueue(
	ctx context.Context, verb, queue, reason string, opts []OrderOption, change func(all *control.Orders, by control.Order),
) (Confirmation, error) {
	a := access.Act{Kind: string(client.ActQueue), Op: verb + " queue " + strconv.Quote(queue), Other: "queue " + strconv.Quote(queue), Detail: verb}
	err := cmp.Or(o.usable(ctx), access.Name("queue name", queue), access.Reason(reason))
	if err == nil && queue == reserved.Queue {
		err = fmt.Errorf("%w: %w", client.ErrInvalid, errOwnQueue)
	}
	if err != nil {
		return Confirmation{}, fmt.Errorf("%s: %w", a.Op, err)
	}
	return o.order(ctx, &a, reason, opts, change, func(n *upgrade.Node) bool {
		return n.Cut || n.Every == 0 || slices.ContainsFunc(n.Queues, func(q upgrade.Queue) bool { return q.Name == queue })
	})
}
