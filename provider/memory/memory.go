package memory

import (
	"context"
	"sync"

	"github.com/perdure/perdure/provider"
)

// Options configure a Provider. The zero value is ready for use.
type Options struct {
	Clock Source // nil: the machine's clock
}

// Provider keeps everything in memory. It implements provider.Provider, provider.Notifier and provider.Inspector.
type Provider struct {
	clock Source
	bell  notifier

	mu      sync.Mutex // guards all below
	calls   sync.WaitGroup
	closed  bool
	last    provider.Time // the clock as last read: it never goes back
	changed chan struct{} // closed and replaced by each change; see wait.go
	dirty   bool          // something changed since changed was replaced
	notices []provider.Notice

	sequence  int64 // of messages and dead letters, in their order
	asked     int64 // of asks, which come and go with their calls: they leave no gap in the other
	instances map[provider.UUID]*instance
	current   map[string]*instance                  // by ID
	live      map[provider.UUID]*instance           // those that have not ended
	children  map[provider.UUID][]*instance         // by the parent's key
	tasks     map[provider.TaskRef]*task            // pending ones
	sessions  map[string]*session                   // by ID, also some that nobody holds any more
	asks      map[provider.UUID]*ask                // open ones
	letters   []*letter                             // by ID
	leases    map[string]holder                     // by name
	records   map[string]map[string]provider.Record // by namespace and key
	stats     provider.StatsResult                  // only its counters
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Notifier = (*Provider)(nil)
)

// New makes an empty store.
func New(options Options) *Provider {
	if options.Clock == nil {
		options.Clock = system{}
	}
	return &Provider{
		clock:     options.Clock,
		changed:   make(chan struct{}),
		instances: map[provider.UUID]*instance{},
		current:   map[string]*instance{},
		live:      map[provider.UUID]*instance{},
		children:  map[provider.UUID][]*instance{},
		tasks:     map[provider.TaskRef]*task{},
		sessions:  map[string]*session{},
		asks:      map[provider.UUID]*ask{},
		leases:    map[string]holder{},
		records:   map[string]map[string]provider.Record{},
	}
}

// request is what all requests of the contract have in common.
type request interface{ Validate() error }

// do runs one call that does not block, as one transaction.
func (p *Provider) do(ctx context.Context, req request, run func(now provider.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := req.Validate(); err != nil {
		return err
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return provider.ErrClosed
	}
	p.calls.Add(1)
	defer p.calls.Done()
	err := run(p.now())
	p.unlock()
	return err
}

// now reads the clock; the caller holds the lock.
func (p *Provider) now() provider.Time {
	p.last = max(p.last, provider.TimeOf(p.clock.Now()))
	return p.last
}

// next gives a number that is higher than all before.
func (p *Provider) next() int64 {
	p.sequence++
	return p.sequence
}

// write marks that the running call changes the store, which wakes all blocked calls
// when it is over.
func (p *Provider) write() {
	if !p.dirty {
		p.stats.Commits++
	}
	p.dirty = true
}

// unlock ends a transaction: it wakes who waits and then tells the notices.
func (p *Provider) unlock() {
	if p.dirty {
		close(p.changed)
		p.changed = make(chan struct{})
		p.dirty = false
	}
	notices := p.notices
	p.notices = nil
	p.mu.Unlock()
	p.bell.ring(notices)
}

// Close implements provider.Provider.
func (p *Provider) Close() error {
	p.mu.Lock()
	if !p.closed {
		p.closed = true
		close(p.changed)
	}
	p.mu.Unlock()
	p.calls.Wait()
	return nil
}
