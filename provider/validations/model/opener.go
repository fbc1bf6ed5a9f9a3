package model

import (
	"slices"

	"github.com/perdure/perdure/provider"
)

// doReset resets an instance to a prefix: mostly with the Version that is stored, sometimes with that of another instance.
func doReset(d *driver) {
	if len(d.rows) == 0 {
		return
	}
	row := d.row()
	req := provider.ResetRequest{
		Key: row.Key, Commit: d.commit(), Expected: row.Version, RequestID: pick(&d.source, "", "", "", "s1", "s2"),
		Name: d.kind(), CodeVersion: pick(&d.source, "", "1"), EngineLevel: int64(d.n(3)), Children: d.links(&row), Notices: d.notices(),
	}
	switch d.n(12) {
	case 9:
		req.ID, req.Key = row.ID, provider.UUID{}
	case 10:
		req.Key = d.row().Key
	case 11: // a repeat, or one that looks like it
		req.Commit, req.Expected = row.Version, named('C', 1+d.n(d.counter))
	}
	if d.odds(3) {
		req.Event = d.payload("e")
	}
	p, soon := d.prefix()
	if soon {
		req.Notices = nil
	}
	d.brief = d.brief || d.idles
	d.keepsPlace(req.ID, req.Key, req.Commit)
	_, _ = call(d, "reset", (*provider.Full).Reset, once(func(s *side) provider.ResetRequest {
		r := req
		r.Prefix = p(s)
		return r
	}), nil)
}

func doFork(d *driver) {
	create := d.create()
	create.Message, create.Messages, create.Attributes = provider.NewMessage{}, nil, nil
	if create.Policy == provider.IDUseExisting {
		create.Policy = provider.IDReplaceEnded
	}
	p, _ := d.prefix()
	d.brief = d.brief || d.idles
	_, _ = call(d, "fork", (*provider.Full).Fork, once(func(s *side) provider.ForkRequest {
		return provider.ForkRequest{Create: create, Prefix: p(s)}
	}), nil)
}

// links draws the children that a reset moves: some that the instance has, rarely others.
func (w *world) links(of *provider.Instance) (list []provider.ChildLink) {
	add := func(key provider.UUID, event int64) {
		if !slices.ContainsFunc(list, func(l provider.ChildLink) bool { return l.EventID == event }) {
			list = append(list, provider.ChildLink{Key: key, EventID: event})
		}
	}
	for _, row := range w.rows {
		if row.Parent.Key == of.Key && (!row.Status.Ended() || w.odds(6)) && w.odds(2) {
			add(row.Key, row.Parent.EventID)
		}
	}
	if w.odds(8) {
		add(w.key(), w.event())
	}
	return list
}

// prefix draws a prefix, whose instants count from the start of the step. It reports whether a timer is due soon.
func (w *world) prefix() (build func(*side) provider.Prefix, soon bool) {
	var turn provider.CommitTurnRequest
	for _, event := range w.events() {
		task := w.newTask(event)
		task.Lease = nil
		turn.Tasks = append(turn.Tasks, task)
	}
	for _, event := range w.events() {
		turn.Timers = append(turn.Timers, provider.Timer{EventID: event, Kind: provider.MessageKind(w.n(2)), Payload: w.payload("timer")})
	}
	w.addDescription(&turn)
	turn.Next = &provider.NextExecution{}
	timers := w.timers(&turn)
	soon = turn.Next == nil
	p := provider.Prefix{
		Events: append([][]byte{w.payload("e")}, some(&w.source, 2, func() []byte { return w.payload("e") })...), Tasks: turn.Tasks,
		CustomStatus: turn.CustomStatus, Attributes: turn.Attributes, Values: turn.Values,
		Seen: pick(&w.source, nil, nil, []string{"r1"}, []string{"r2", "r1"}),
	}
	p.Messages = some(&w.source, 2, func() provider.CarriedMessage {
		m := w.message()
		m.Delay = 0
		return provider.CarriedMessage{Message: m}
	})
	old := w.n(len(p.Messages) + 1) // so many of them were visible long ago
	if soon {
		old = len(p.Messages)
	}
	return func(s *side) provider.Prefix {
		made := p
		made.Timers = timers(s)
		made.Messages = slices.Clone(p.Messages)
		for n := range made.Messages {
			if made.Messages[n].At = provider.HeldUntil; n < old {
				made.Messages[n].At = s.marks[len(s.marks)-1].from.Add(-long)
			}
		}
		return made
	}, soon
}
