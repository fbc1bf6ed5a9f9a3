package dispatcher

import "github.com/perdure/perdure/observe"

// Gauges returns the state of the node. It reads memory only.
func (d *Dispatcher) Gauges() observe.Gauges {
	cfg, c := &d.node.Config, &d.node.Count
	cached, bytes := d.turns.Cached()
	g := observe.Gauges{
		TurnSlots: d.turns.Slots(), Pools: d.worker.Pools(), Cached: int64(cached), CachedBytes: int64(bytes),
		Evicted: c.CacheEvictions.Load(), Leaked: d.node.Watchdog.Figures().Running, HeadersLeftOut: c.HeadersLeftOut.Load(),
		EventsDropped: cfg.Watch.Dropped(), FiguresLost: c.FiguresLost.Load(),
	}
	if limit := int64(cfg.MaxActivities); limit > 0 {
		g.ActivitySlots = observe.Slots{Used: c.AttemptsRunning.Load(), Limit: limit}
	}
	return g
}
