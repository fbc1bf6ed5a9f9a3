package kit

import (
	"context"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

// DefaultInterval is how often a blocked call polls without a change, unless NewHub gets another interval.
const DefaultInterval = 10 * time.Millisecond

// Hub wakes calls that block. It is safe for concurrent use.
type Hub struct {
	interval time.Duration
	closed   chan struct{}

	mu      sync.Mutex
	changed chan struct{} // closed and replaced by each change
	ended   bool
}

// NewHub returns a hub. A blocked call polls after each change, and each interval for what becomes due by time alone. An interval
// of 0 or less means DefaultInterval.
func NewHub(interval time.Duration) *Hub {
	if interval <= 0 {
		interval = DefaultInterval
	}
	return &Hub{interval: interval, closed: make(chan struct{}), changed: make(chan struct{})}
}

// Changed wakes all blocked calls. A store calls it once a change is durable.
func (h *Hub) Changed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	close(h.changed)
	h.changed = make(chan struct{})
}

// Close ends all blocked calls with [provider.ErrClosed], and later ones, too. Closing twice is fine.
func (h *Hub) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.ended {
		h.ended = true
		close(h.closed)
	}
}

// next returns the channel that the next change closes.
func (h *Hub) next() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// isClosed reports whether the hub was closed.
func (h *Hub) isClosed() bool {
	select {
	case <-h.closed:
		return true
	default:
		return false
	}
}

// Block calls poll until it has found something or failed, or until wait has passed, and returns its last result. It polls at least
// once, and once more when wait has passed. A wait longer than [provider.MaxWait] is shortened. It returns the error of a done
// context, and provider.ErrClosed after Close. It neither polls twice at once nor after it has returned.
func Block[Res any](ctx context.Context, h *Hub, wait time.Duration, poll func() (res Res, found bool, err error)) (res Res, err error) {
	over := time.NewTimer(min(wait, provider.MaxWait))
	defer over.Stop()
	tick := time.NewTicker(h.interval)
	defer tick.Stop()
	for last := wait <= 0; ; {
		changed := h.next() // before the poll, so that no change is missed
		if err := ctx.Err(); err != nil {
			return res, err
		}
		if h.isClosed() {
			return res, provider.ErrClosed
		}
		var found bool
		if res, found, err = poll(); found || err != nil || last {
			return res, err
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-over.C:
			last = true
		case <-ctx.Done():
		case <-h.closed:
		}
	}
}
