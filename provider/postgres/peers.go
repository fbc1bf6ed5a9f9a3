package postgres

import (
	"maps"
	"sync"
	"time"
)

const (
	// coalesce is how long notifications are gathered while others have just been sent, in a process that hears nobody else.
	coalesce = 2 * time.Millisecond
	// maxCoalesce bounds what the notifications of many busy processes add to the way of a wake-up.
	maxCoalesce = 20 * time.Millisecond
	// recently is how long a process counts as busy after it was heard.
	recently = time.Second
	// maxPeers bounds how many processes are counted, as anybody may send a notification.
	maxPeers = 64
	// nodeLength is the length of the beginning of a payload that names its process.
	nodeLength = len(`{"n":"0123456789abcdef"`)
)

// peers counts the other processes that send notifications. Each one sends to all, so with a fixed rate of each the server would deliver as many as
// the square of their number, and commits that notify wait for each other. So each of them gathers longer, the more it hears.
type peers struct {
	mu   sync.Mutex
	last map[string]time.Time // when each was heard
}

// heard notes who sent a notification.
func (p *peers) heard(payload string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = make(map[string]time.Time)
	}
	node := payload[:min(nodeLength, len(payload))]
	if _, known := p.last[node]; known || len(p.last) < maxPeers {
		p.last[node] = now
	}
}

// gather returns how long to gather notifications before the next one is sent.
func (p *peers) gather(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.last, func(_ string, at time.Time) bool { return now.Sub(at) > recently })
	return min(max(coalesce, coalesce/2*time.Duration(len(p.last)+1)), maxCoalesce)
}
