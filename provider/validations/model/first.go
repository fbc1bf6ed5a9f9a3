package model

import "github.com/perdure/perdure/provider"

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
		turn := first
		turn.Timers = timers(s)
		r.First = &turn
		return r
	})
}
