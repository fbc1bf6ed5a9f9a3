package memory

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// An instance is its stored row and all that hangs on it, tasks excepted.
type instance struct {
	row        provider.Instance // but for what view fills in
	executions []*execution      // execution n is at n-1
	inbox      []provider.Message
	inboxBytes int64
	attributes map[string]provider.Attribute
	values     map[string][]byte

	lease      provider.UUID // of the turn in flight; it holds on to it until another takes it
	leaseOwner string
	leaseUntil provider.Time
	heldUntil  provider.Time // a clean release asked for a delay
	wokenAt    provider.Time // a reset is ready for a turn although no message waits
	owner      string        // sticky
	ownerUntil provider.Time
}

type execution struct {
	events [][]byte
	bytes  int64
	status provider.Status // while it is the current one the row's status counts
}

func (x *execution) add(events ...[]byte) {
	for _, e := range events {
		x.events = append(x.events, slices.Clone(e))
		x.bytes += int64(len(e))
	}
}

func (i *instance) execution() *execution { return i.executions[i.row.Execution-1] }

// open begins the next execution.
func (i *instance) open(level int64, events [][]byte) {
	x := &execution{}
	x.add(events...)
	i.executions = append(i.executions, x)
	i.row.Execution++
	i.row.EngineLevel = level
}

// status is that of execution n, 0 if there is none.
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

// readyAt is when a turn has something to do, 0 for never.
func (i *instance) readyAt() provider.Time {
	if len(i.inbox) == 0 {
		return i.wokenAt
	}
	return sooner(i.wokenAt, i.inbox[0].VisibleAt)
}

// view is the row as callers see it: complete, and sharing no memory.
func (i *instance) view() provider.Instance {
	v := i.row
	v.HistoryLength = int64(len(i.execution().events))
	v.HistoryBytes = i.execution().bytes
	v.ReadyAt = i.readyAt()
	v.InboxMessages = int64(len(i.inbox))
	v.CustomStatus = slices.Clone(v.CustomStatus)
	v.Result = slices.Clone(v.Result)
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

// find answers the instance under key, or under the ID when key is zero.
func (p *Provider) find(id string, key provider.UUID) (*instance, error) {
	i := p.instances[key]
	if key.IsZero() {
		i = p.current[id]
	}
	if i == nil {
		return nil, provider.ErrNotFound
	}
	return i, nil
}

// Create implements provider.Provider.
func (p *Provider) Create(ctx context.Context, req provider.CreateRequest) (res provider.CreateResult, err error) {
	err = p.do(ctx, req, func(now provider.Time) error {
		i, created, err := p.create(req, now)
		if err != nil {
			return err
		}
		res = provider.CreateResult{Instance: i.view(), Created: created, Begun: req.First != nil && i.row.Version == req.First.Commit, Now: now}
		return nil
	})
	return res, err
}

// create inserts an instance; it is the only place that does.
func (p *Provider) create(req provider.CreateRequest, now provider.Time) (i *instance, created bool, err error) {
	if old := p.current[req.ID]; old != nil {
		switch {
		case req.RequestID != "" && req.RequestID == old.row.RequestID:
			return old, true, nil
		case req.Policy == provider.IDUseExisting:
			return old, false, nil
		case req.Policy == provider.IDReject || !old.row.Status.Ended():
			return nil, false, exists(old)
		}
	}
	if other := p.instances[req.Key]; other != nil {
		return nil, false, exists(other)
	}
	if parent := req.Parent.Key; !parent.IsZero() && p.instances[parent] == nil {
		return nil, false, provider.ErrNotFound
	}
	i = &instance{
		row: provider.Instance{
			ID: req.ID, Key: req.Key, Name: req.Name, CodeVersion: req.CodeVersion, Status: provider.StatusRunning,
			Version: req.Commit, Parent: req.Parent, RequestID: req.RequestID, CreatedAt: now, UpdatedAt: now,
		},
		attributes: map[string]provider.Attribute{},
		values:     map[string][]byte{},
	}
	i.open(req.EngineLevel, nil)
	i.setAttributes(req.Attributes)
	p.instances[req.Key], p.current[req.ID], p.live[req.Key] = i, i, i
	if parent := req.Parent.Key; !parent.IsZero() {
		p.children[parent] = append(p.children[parent], i)
	}
	p.write()
	if req.First != nil { // it has consumed the start message, and meets nothing that could refuse it
		p.apply(i, req.First, now)
	} else {
		p.put(i, req.Message, now)
	}
	return i, true, nil
}

func exists(i *instance) error {
	return &provider.ExistsError{ID: i.row.ID, Key: i.row.Key, Status: i.row.Status}
}

// Get implements provider.Provider.
func (p *Provider) Get(ctx context.Context, req provider.GetRequest) (res provider.GetResult, err error) {
	wait := req.Wait
	if !req.WaitEnded {
		wait = 0
	}
	key := req.Key // of the instance that the ID named first: a successor is another one
	err = p.wait(ctx, req, wait, func(now provider.Time) (bool, provider.Time, error) {
		i, err := p.find(req.ID, key)
		if err != nil {
			return false, 0, err
		}
		key = i.row.Key
		res = provider.GetResult{Instance: i.view(), Now: now}
		if req.WithTasks {
			res.Tasks = p.taskInfos(key, now)
			for _, l := range p.letters {
				if l.Key == key {
					res.DeadLetters++
				}
			}
		}
		if req.WithValues {
			for _, k := range slices.Sorted(maps.Keys(i.values)) {
				res.Values = append(res.Values, provider.KeyValue{Key: k, Value: slices.Clone(i.values[k])})
			}
		}
		return i.row.Status.Ended() || (req.WaitBlocked && i.row.Blocked != nil), 0, nil
	})
	if err != nil {
		res = provider.GetResult{}
	}
	return res, err
}
