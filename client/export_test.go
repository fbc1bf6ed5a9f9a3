package client

import (
	"time"

	"github.com/perdure/perdure/internal/upgrade"
)

// Filled returns the options of a client with the defaults filled in.
func (c *Client) Filled() Options {
	o := Options{Logger: c.store.Logger, CallTimeout: c.store.Timeout, Overload: c.policy}
	if c.backlog != nil {
		o.MaxBacklog = int(c.backlog.limit)
	}
	return o
}

// OfLevel makes c a client of a release that runs executions up to a level.
func OfLevel(c *Client, level int64) { c.level = upgrade.New(c.store.Full, level) }

// SetSearchBudget sets how long the branches of a search read together.
func (c *Client) SetSearchBudget(d time.Duration) { c.searchBudget = d }
