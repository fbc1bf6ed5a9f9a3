package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/perdure/perdure/provider"
)

// Export implements provider.Mover. Its cursor is the number of the first item of the page.
func (mv *mover) Export(ctx context.Context, req provider.ExportRequest) (res provider.ExportResult, err error) {
	err = mv.do(ctx, req, func(now provider.Time) error {
		i := mv.instances.byKey[req.Key]
		if i == nil {
			return provider.ErrNotFound
		}
		closed := i.seal.State == provider.SealClosed && i.seal.Transfer == req.Transfer
		if !closed && (i.seal.State != provider.SealNone || !i.row.Status.Ended()) {
			return provider.ErrConflict
		}
		at := 0
		if req.Cursor != "" {
			n, err := strconv.Atoi(req.Cursor)
			if at = n; err != nil || at < 1 {
				return fmt.Errorf("export: Cursor: %w: use ExportResult.Cursor of the previous page", provider.ErrInvalid)
			}
		}
		res = provider.ExportResult{Version: i.row.Version, Now: now}
		items := mv.items(i)
		for ; at < len(items) && res.Parcel.Bytes() < cmp.Or(req.MaxBytes, provider.MaxFetchBytes); at++ {
			items[at](&res.Parcel)
		}
		if at < len(items) {
			res.Cursor = strconv.Itoa(at)
		}
		return nil
	})
	return res, err
}

// items returns functions that add the parts of an instance to a page, in their order.
func (mv *mover) items(i *instance) (list []func(*provider.Parcel)) {
	list = append(list, func(p *provider.Parcel) { p.Head = mv.head(i) })
	for n, x := range i.executions {
		for e, event := range x.events {
			list = append(list, func(p *provider.Parcel) {
				m := provider.MovedEvents{Execution: int64(n) + 1, First: int64(e) + 1, Events: [][]byte{bytes.Clone(event)}}
				p.History = append(p.History, m)
			})
		}
	}
	for _, m := range i.inbox {
		list = append(list, func(p *provider.Parcel) {
			m.Payload = bytes.Clone(m.Payload)
			p.Messages = append(p.Messages, m)
		})
	}
	var tasks []*task
	for _, t := range mv.tasks.byRef {
		if t.Key == i.row.Key {
			tasks = append(tasks, t)
		}
	}
	slices.SortFunc(tasks, func(a, b *task) int {
		return cmp.Or(cmp.Compare(a.Execution, b.Execution), cmp.Compare(a.EventID, b.EventID))
	})
	for _, t := range tasks {
		list = append(list, func(p *provider.Parcel) { p.Tasks = append(p.Tasks, t.moved()) })
	}
	for _, name := range slices.Sorted(maps.Keys(i.values)) {
		list = append(list, func(p *provider.Parcel) {
			p.Values = append(p.Values, provider.KeyValue{Key: name, Value: bytes.Clone(i.values[name])})
		})
	}
	for _, l := range mv.deadLetters.list {
		if l.Key == i.row.Key {
			list = append(list, func(p *provider.Parcel) { p.Letters = append(p.Letters, l.moved()) })
		}
	}
	return list
}

func (mv *mover) head(i *instance) *provider.MovedHead {
	h := &provider.MovedHead{
		Instance: i.view(), Replaced: mv.instances.current[i.row.ID] != i, NotBefore: i.heldUntil, NextMessage: mv.sequence + 1, ReadyAt: i.readyAt(),
		Requests: slices.Clone(i.requests),
	}
	if h.Instance.Deleting {
		h.Instance.Status, h.Instance.Deleting = i.seal.Status, false
	}
	for n, x := range i.executions[:i.row.Execution-1] {
		if x.status != 0 {
			h.Executions = append(h.Executions, provider.MovedExecution{
				Execution: int64(n) + 1, Status: x.status, Length: int64(len(x.events)), EndedAt: x.ended,
			})
		}
	}
	for _, act := range i.acts {
		h.Acts = append(h.Acts, []byte(act))
	}
	if i.listener != nil {
		listener := *i.listener
		listener.Message.Payload = bytes.Clone(listener.Message.Payload)
		h.Listener = &listener
	}
	return h
}

func (t *task) moved() provider.MovedTask {
	m := provider.MovedTask{
		TaskRef: t.TaskRef, Queue: t.queue, Name: t.name, Payload: bytes.Clone(t.payload), Priority: t.priority, FairnessKey: t.fairness,
		Session: t.session, LimitKey: t.limit, State: t.state, Token: t.token, Attempt: t.attempt, Deliveries: t.deliveries, Begun: t.begun,
		CancelRequested: t.cancel, ScheduledAt: t.scheduled, NotBefore: t.notBefore, StartBy: t.startBy, Deadline: t.deadline, Rank: t.turn,
		Details: bytes.Clone(t.details), Failure: bytes.Clone(t.failure),
	}
	if m.State != provider.TaskParked {
		m.State, m.Token = provider.TaskQueued, provider.UUID{}
	}
	return m
}

func (l *deadLetter) moved() provider.MovedLetter {
	m := provider.MovedLetter{
		DeadLetter: l.DeadLetter, Timer: l.timer, Priority: l.task.Priority, FairnessKey: l.task.FairnessKey, Session: l.task.Session,
		LimitKey: l.task.LimitKey,
	}
	m.Payload = bytes.Clone(m.Payload)
	return m
}
