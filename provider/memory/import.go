package memory

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/perdure/perdure/provider"
)

// Import implements provider.Mover.
func (mv *mover) Import(ctx context.Context, req provider.ImportRequest) (res provider.ImportResult, err error) {
	err = mv.do(ctx, req, func(now provider.Time) error {
		if req.At > now {
			return provider.ErrClockBehind
		}
		i := mv.instances.byKey[req.Key]
		known := i != nil && i.seal.Arrived && i.seal.Transfer == req.Transfer
		if err := fits(i, &req); err != nil {
			return err
		}
		switch {
		case known && i.seal.State != provider.SealArriving:
			res.Done = true
		case known && req.Number > 0 && req.Number < i.seal.pages: // a repeat
		case req.Number == 0:
			if i, err = mv.begin(i, &req); err != nil {
				return err
			}
			mv.add(i, &req)
		case !known || req.Number != i.seal.pages:
			return provider.ErrConflict
		default:
			mv.add(i, &req)
		}
		res.Seal, res.Done, res.Now = i.seal.Seal, res.Done || req.Last, now
		return nil
	})
	return res, err
}

// fits refuses events of executions that the instance does not have.
func fits(i *instance, req *provider.ImportRequest) error {
	var last int64
	if head := req.Parcel.Head; head != nil {
		last = head.Instance.Execution
	} else if i != nil {
		last = i.row.Execution
	}
	for n := range req.Parcel.History {
		if last > 0 && req.Parcel.History[n].Execution > last {
			return fmt.Errorf("import: Parcel.History[%d]: %w: the instance has %d executions", n, provider.ErrInvalid, last)
		}
	}
	return nil
}

// begin makes the instance of a first page in place of the one that is there.
func (mv *mover) begin(there *instance, req *provider.ImportRequest) (*instance, error) {
	head := req.Parcel.Head
	if there != nil {
		s := &there.seal
		comes := s.State == provider.SealArriving || s.State == provider.SealClosed && !s.Arrived && req.Replace
		if !comes {
			return nil, exists(there)
		}
	}
	if old := mv.instances.current[head.Instance.ID]; old != nil && old != there && !head.Replaced {
		return nil, exists(old)
	}
	if there != nil {
		mv.cleaner.remove(there)
	}
	i := &instance{
		row: head.Instance, attributes: map[string]provider.Attribute{}, values: map[string][]byte{}, requests: slices.Clone(head.Requests),
		heldUntil: head.NotBefore, wokenAt: head.ReadyAt,
		seal: seal{
			Seal: provider.Seal{
				Key: req.Key, ID: head.Instance.ID, Transfer: req.Transfer, State: provider.SealArriving, Arrived: true, Status: head.Instance.Status,
			},
			ended: head.Instance.EndedAt,
		},
	}
	i.row.Status, i.row.EndedAt, i.row.Deleting, i.row.Attributes = provider.StatusSuspended, 0, true, nil
	i.row.CustomStatus, i.row.Result = bytes.Clone(i.row.CustomStatus), bytes.Clone(i.row.Result)
	i.row.Excerpt = bytes.Clone(i.row.Excerpt)
	i.setAttributes(head.Instance.Attributes)
	for _, act := range head.Acts {
		i.acts = append(i.acts, string(act))
	}
	for range i.row.Execution {
		i.executions = append(i.executions, &execution{})
	}
	for _, x := range head.Executions {
		i.executions[x.Execution-1].status, i.executions[x.Execution-1].ended = x.Status, x.EndedAt
	}
	if head.Listener != nil {
		listener := *head.Listener
		listener.Message.Payload = bytes.Clone(listener.Message.Payload)
		i.listener = &listener
	}
	mv.sequence = max(mv.sequence, head.NextMessage)
	mv.instances.byKey[req.Key] = i
	if !head.Replaced {
		mv.instances.current[i.row.ID] = i
	}
	if parent := i.row.Parent.Key; !parent.IsZero() {
		mv.instances.children[parent] = append(mv.instances.children[parent], i)
	}
	return i, nil
}

// add stores the lists of a page.
func (mv *mover) add(i *instance, req *provider.ImportRequest) {
	p := &req.Parcel
	for _, m := range p.History {
		i.executions[m.Execution-1].add(m.Events...)
	}
	for _, m := range p.Messages {
		m.Payload = bytes.Clone(m.Payload)
		i.inbox = append(i.inbox, m)
		i.inboxBytes += int64(len(m.Payload))
	}
	for n := range p.Tasks {
		m := &p.Tasks[n]
		mv.tasks.byRef[m.TaskRef] = &task{
			TaskRef: m.TaskRef, instanceID: i.row.ID, queue: m.Queue, name: m.Name, payload: bytes.Clone(m.Payload), priority: m.Priority,
			fairness: m.FairnessKey, session: m.Session, limit: m.LimitKey, turn: m.Rank, notBefore: m.NotBefore, startBy: m.StartBy,
			deadline: m.Deadline, scheduled: m.ScheduledAt, state: m.State, token: m.Token, attempt: m.Attempt, deliveries: m.Deliveries,
			begun: m.Begun, cancel: m.CancelRequested, details: bytes.Clone(m.Details), failure: bytes.Clone(m.Failure),
		}
	}
	i.setValues(p.Values)
	for n := range p.Letters {
		m := &p.Letters[n]
		l := &deadLetter{DeadLetter: m.DeadLetter, timer: m.Timer}
		l.ID, l.Payload = mv.next(), bytes.Clone(m.Payload)
		if m.Task {
			l.task = provider.NewTask{
				EventID: m.EventID, Queue: m.Queue, Name: m.Name, Payload: l.Payload, Priority: m.Priority, FairnessKey: m.FairnessKey,
				Session: m.Session, LimitKey: m.LimitKey,
			}
		}
		mv.deadLetters.list = append(mv.deadLetters.list, l)
	}
	i.seal.pages = req.Number + 1
	if req.Last {
		i.seal.State = provider.SealClosed
		if len(i.inbox) > 0 && i.inbox[0].VisibleAt <= i.wokenAt {
			i.wokenAt = 0 // the message makes it ready
		}
	}
	mv.write()
}
