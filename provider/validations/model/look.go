package model

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// look compares everything that can be read from the two stores.
func (d *driver) look() {
	at := len(d.lines)
	d.linef("comparing everything that is stored")
	d.rows = d.list()
	for i := range d.rows {
		lookAt(d, &d.rows[i])
	}
	if d.features.FailureGroups {
		for _, group := range []string{"", "g"} {
			d.see(func() {
				read(d, (*provider.Full).FailureGroups, provider.FailureGroupsRequest{Group: group}, tidyGroups)
			})
		}
	}
	if has[provider.Redriver](d.subject) {
		d.see(func() { read(d, (*provider.Full).DeadLetters, provider.DeadLettersRequest{}, numberLetters) })
	}
	if has[provider.Keeper](d.subject) {
		d.see(func() {
			read(d, (*provider.Full).Record, provider.RecordRequest{Action: provider.RecordScan, Namespace: "n"}, nil)
		})
	}
	if has[provider.Inspector](d.subject) {
		for kind := provider.InspectInstances; kind <= provider.InspectDeadLetters; kind++ {
			d.see(func() { inspectAll(d, kind) })
		}
	}
	if d.differs == "" {
		d.lines = d.lines[:at]
	}
}

// list returns the instances of both sides; those of the model, if the subject does not list its own.
func (d *driver) list() []provider.Instance {
	req := provider.ListRequest{Filter: provider.Filter{Replaced: true}}
	if !has[provider.Lister](d.subject) {
		res, err := d.model.List(d.ctx, req)
		d.failed(err)
		return res.Instances
	}
	return read(d, (*provider.Full).List, req, func(s *side, res *provider.ListResult) {
		s.created = map[provider.UUID]provider.Time{}
		for _, i := range res.Instances {
			s.created[i.Key] = i.CreatedAt
		}
	}).Instances
}

// read compares the results of a call that changes nothing. The result's Now replaces a reading of the subject's clock.
func read[Req, Res any](d *driver, fn method[Req, Res], req Req, tidy func(*side, *Res)) Res {
	res, _ := compare(d, fn, always(req), func(s *side, res *Res) {
		if now := reflect.ValueOf(res).Elem().FieldByName("Now"); now.IsValid() && s == d.subject {
			s.marks[len(s.marks)-1].to = provider.Time(now.Int())
		}
		if tidy != nil {
			tidy(s, res)
		}
	}, func() {})
	return res
}

// lookAt compares one instance.
func lookAt(d *driver, i *provider.Instance) {
	d.see(func() {
		read(d, (*provider.Full).Get, provider.GetRequest{Key: i.Key, WithTasks: true, WithValues: true, WithMark: true}, d.followMark(i.Key))
	})
	d.see(func() {
		read(d, (*provider.Full).Get, provider.GetRequest{Key: i.Key, Value: valueNames[0], WaitValue: true}, nil)
	})
	for execution := range i.Execution {
		d.see(func() {
			req := provider.ReadHistoryRequest{Key: i.Key, Execution: execution + 1, From: 1}
			read(d, (*provider.Full).ReadHistory, req, nil)
		})
	}
}

// tidyGroups removes what depends on which of two instances ended last: on one side both may end at the same instant.
func tidyGroups(_ *side, res *provider.FailureGroupsResult) {
	for i := range res.Groups {
		if g := &res.Groups[i]; g.Count > 1 {
			g.Name, g.Newest, g.Excerpt = "", provider.UUID{}, nil
		}
	}
	slices.SortFunc(res.Groups, func(a, b provider.FailureGroup) int { return strings.Compare(a.Group, b.Group) })
}

// inspectAll compares the rows of one kind, as far as the contract defines them.
func inspectAll(d *driver, kind provider.InspectKind) {
	if kind == provider.InspectAsks || kind == provider.InspectOutcomes {
		return // abandoned questions and empty outcomes may remain
	}
	inspect := func(p *provider.Full, ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
		inspector, _ := provider.As[provider.Inspector](p)
		return inspector.Inspect(ctx, req)
	}
	read(d, inspect, provider.InspectRequest{Kind: kind}, tidyRows)
}

// tidyRows removes from stored rows everything in which stores may differ.
func tidyRows(s *side, res *provider.InspectResult) {
	for i := range res.Messages {
		m := &res.Messages[i]
		m.ID = s.inbox(m.Key).number(m.ID)
	}
	for i := range res.Tasks {
		if t := &res.Tasks[i]; t.State == provider.TaskLeased && t.Lease.Over { // the store may have ended it
			t.State, t.Lease = provider.TaskQueued, provider.LeaseRow{}
		}
	}
	held := res.TurnLeases[:0]
	for _, l := range res.TurnLeases {
		if !l.Lease.Over {
			held = append(held, l)
		}
	}
	res.TurnLeases = held
	var together []provider.HistoryRow // of an execution
	for _, h := range res.History {
		last := len(together) - 1
		if last >= 0 && together[last].Key == h.Key && together[last].Execution == h.Execution && h.First == together[last].First+together[last].Count {
			together[last].Count += h.Count
		} else {
			together = append(together, h)
		}
	}
	res.History = together
}
