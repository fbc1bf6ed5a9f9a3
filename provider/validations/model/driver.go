package model

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
)

// watchdog is how long one call may take.
const watchdog = 30 * time.Second

// A driver plays one sequence on both sides.
type driver struct {
	story
	timeline
	world

	ctx        context.Context //nolint:containedctx // it lives as long as the sequence
	handle     int             // of the subject's last call
	fetching   bool            // the next call is a fetch
	lastCommit func(*side) provider.CommitTurnRequest
	lastCreate struct {
		req   func(*side) provider.CreateRequest
		brief bool // a part of it expires soon
	}
}

// expire lets short leases and delays expire.
func (d *driver) expire() {
	d.linef("short leases and delays expire")
	d.failed(d.pass(d.ctx, pause))
}

// see looks unless something differs already.
func (d *driver) see(look func()) {
	if d.differs == "" {
		look()
	}
}
