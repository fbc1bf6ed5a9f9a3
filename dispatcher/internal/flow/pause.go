package flow

import "github.com/perdure/perdure/provider"

// Pause replaces the set of queues of which nothing begins. A waiting fetch ends, so that the next one asks for what may begin now.
func (p *Pools) Pause(queues map[string]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused.Store(nil)
	if len(queues) > 0 {
		p.paused.Store(&queues)
	}
	p.endWait()
}

// Paused reports whether nothing of the queue begins.
func (p *Pools) Paused(queue string) bool {
	paused := p.paused.Load()
	return paused != nil && (*paused)[queue]
}

// open returns the queues of the group that are not paused.
func (g *group) open(paused *map[string]bool) []provider.QueueFilter {
	if paused == nil {
		return g.queues
	}
	open := make([]provider.QueueFilter, 0, len(g.queues))
	for _, f := range g.queues {
		if !(*paused)[f.Queue] {
			open = append(open, f)
		}
	}
	return open
}
