package model

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// tryFirst finds out whether the provider stores the first turn of a start, with an instance that it deletes again. If not,
// the model gets no first turns: the provider must ignore each of them.
func tryFirst(d *driver) {
	req := provider.CreateRequest{ID: "tried", Key: named('F', 1), Commit: named('F', 2), Name: "tried"}
	req.First = &provider.CommitTurnRequest{
		Key: req.Key, Execution: 1, Expected: req.Commit, Commit: named('F', 3), Status: provider.StatusRunning,
	}
	ctx, cancel := context.WithTimeout(d.ctx, watchdog)
	defer cancel()
	res, err := d.subject.Create(ctx, req)
	if err == nil {
		d.begins = res.Begun
		_, err = d.subject.Delete(ctx, provider.DeleteRequest{Key: req.Key, Force: true})
	}
	if err != nil {
		d.differf("trying a first turn: %v", err)
	}
}

// drawFirst draws a first turn for a start.
func drawFirst(d *driver, req provider.CreateRequest) func(*side) provider.CreateRequest {
	req.Message.Delay = 0
	for n := range req.Messages {
		req.Messages[n].Delay = 0
	}
	first := provider.CommitTurnRequest{
		Key: req.Key, Execution: 1, Expected: req.Commit, Commit: d.commit(), Status: provider.StatusRunning,
		Events: some(&d.source, 2, func() []byte { return d.payload("e") }),
	}
	d.addWork(&first)
	first.Completes = nil
	d.addOthers(&first)
	for n := range first.Starts {
		if d.odds(2) {
			first.Starts[n].Create.Parent = provider.Parent{Key: req.Key, ID: req.ID, Execution: 1, EventID: d.event()}
		}
	}
	d.addDescription(&first)
	timers := d.timers(&first)
	return once(func(s *side) provider.CreateRequest {
		r := req
		if s == d.subject || d.begins {
			turn := first
			turn.Timers = timers(s)
			r.First = &turn
		}
		return r
	})
}
