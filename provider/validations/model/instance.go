package model

import "github.com/perdure/perdure/provider"

func doCreate(d *driver) {
	if d.lastCreate.req == nil || !d.odds(12) {
		d.lastCreate.req = always(d.create())
		if d.features.FirstTurns && d.odds(3) {
			d.lastCreate.req = drawFirst(d, d.lastCreate.req(d.model))
		}
		d.lastCreate.brief = d.brief
	}
	d.brief = d.brief || d.lastCreate.brief || d.idles
	res, err := call(d, "create", (*provider.Full).Create, d.lastCreate.req, nil)
	if req := d.lastCreate.req(d.model); err == nil && res.Begun {
		d.noteLeases(req.First)
	}
}

func doGet(d *driver) {
	req := provider.GetRequest{WithTasks: d.odds(2), WithValues: d.odds(2), WaitEnded: d.odds(2), WaitBlocked: d.odds(2)}
	req.ID, req.Key = d.target()
	_, _ = call(d, "get", (*provider.Full).Get, always(req), nil)
}

func doSend(d *driver) {
	req := provider.SendRequest{Message: d.message()}
	req.ID, req.Key = d.target()
	_, _ = call(d, "send", (*provider.Full).Send, always(req), func(s *side, res *provider.SendResult) {
		res.MessageID = s.inbox(res.Key).number(res.MessageID)
	})
}

func doSteer(d *driver) {
	req := provider.SteerRequest{Commit: d.commit(), RequestID: pick(&d.source, "", "", "", "", "s1", "s2")}
	req.ID, req.Key = d.target()
	req.Action = pick(&d.source, provider.SteerSuspend, provider.SteerResume, provider.SteerTerminate, provider.SteerTerminate,
		provider.SteerUnblock, provider.SteerReset, provider.SteerReset, provider.SteerMove, provider.SteerDrop)
	if d.odds(3) {
		req.Event = d.payload("e")
	}
	switch req.Action {
	case provider.SteerTerminate:
		if d.odds(2) {
			req.Result = d.payload("result")
		}
		req.ParentNotice, req.ChildNotice, req.Notices = d.maybeMessage(), d.maybeMessage(), d.notices()
	case provider.SteerReset:
		req.Events, req.EngineLevel = some(&d.source, 2, func() []byte { return d.payload("e") }), int64(d.n(3))
	case provider.SteerMove:
		req.CodeVersion, req.EngineLevel = pick(&d.source, "", "1"), int64(d.n(3))
	case provider.SteerDrop:
		doDrop(d, req)
		return
	default:
	}
	d.fence(&req)
	if len(d.rows) > 0 && d.odds(12) { // a repeat, or one that looks like it
		row := d.row()
		req.ID, req.Key, req.Commit = "", row.Key, row.Version
	}
	d.keepsPlace(req.ID, req.Key, req.Commit)
	_, _ = call(d, "steer", (*provider.Full).Steer, always(req), nil)
}
