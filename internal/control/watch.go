package control

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

const (
	// ReadInterval is how often a node reads the orders.
	ReadInterval = 4 * time.Second
	// retry is how often a node tries to read them that has never read them.
	retry = 250 * time.Millisecond
	// MinReportInterval is how often a node writes what runs on it at most.
	MinReportInterval = 15 * time.Second
	// MaxReportInterval is how often a node writes its record at least.
	MaxReportInterval = time.Minute
	// patience bounds one call of the storage.
	patience = 2 * time.Second
)

// Controls are what orders change on a node, and what the node says about itself.
type Controls interface {
	// PauseQueues replaces the set of queues from which the node begins nothing.
	PauseQueues(paused map[string]bool)
	// Drain makes the node take no more work, and Undrain ends that.
	Drain()
	Undrain()
	State() upgrade.State
	Load() upgrade.Load
}

// Watch makes a node obey the orders of its store and keeps its record up to date.
type Watch struct {
	store  provider.Keeper
	member *upgrade.Membership
	owner  string
	logger *slog.Logger

	counted         func() *upgrade.Counts // of the figures of the node; nil: it keeps none
	orders          Orders                 // that the node carries out
	reportedAt      time.Time              // when the record was written last
	reportedState   upgrade.State          // in the record, as the next
	reportedLoad    upgrade.Load
	reportedVersion int64
	failing         bool
	unread          bool // the orders have never been read
	absent          bool // the store keeps no records
}

// NewWatch returns the watch of a node that has not started. It reads the orders, so that the node obeys them from its first fetch. A fault
// that may pass is left to Run; until then the node begins no activity, because its queue may be paused.
func NewWatch(ctx context.Context, store provider.Keeper, owner string, logger *slog.Logger) (*Watch, error) {
	w := &Watch{store: store, owner: owner, logger: logger, unread: true}
	if err := w.read(ctx); err != nil && !provider.Retryable(err) {
		return nil, err
	}
	w.reportedVersion = w.orders.Version
	return w, nil
}

// Describe sets in the first record of the node that it obeys orders.
func (w *Watch) Describe(n *upgrade.Node) {
	n.Every, n.Seen = int64(MaxReportInterval/time.Second), w.orders.Version
}

// Counts lets the record of the node say from when to when it has counted; nil: it has not begun. It must be called before Run and Follow.
func (w *Watch) Counts(counted func() *upgrade.Counts) { w.counted = counted }

// Paused returns the queues that were paused when the orders were read last, and all the given ones if they never were.
func (w *Watch) Paused(served []string) map[string]bool {
	paused := make(map[string]bool, len(w.orders.Paused))
	if w.unread {
		for _, queue := range served {
			paused[queue] = true
		}
	}
	for queue := range w.orders.Paused {
		paused[queue] = true
	}
	return paused
}

// read reads the orders. It returns no error for a store without records.
func (w *Watch) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o, err := Read(ctx, w.store)
	if errors.Is(err, errors.ErrUnsupported) {
		w.absent, w.unread = true, false
		return nil
	}
	if err == nil {
		w.orders, w.unread = o, false
	}
	return err
}

// Run obeys the orders until ctx is done. member writes the record.
func (w *Watch) Run(ctx context.Context, node Controls, member *upgrade.Membership) {
	w.member, w.reportedAt = member, time.Now()
	tick := time.NewTicker(ReadInterval)
	defer tick.Stop()
	if w.unread {
		tick.Reset(retry)
	}
	for !w.absent {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if w.applyOrders(ctx, node) {
				tick.Reset(ReadInterval)
			}
			w.report(ctx, node)
		}
	}
}

// Follow is Run in a test whose store tells of changes of records: next returns a channel that is closed at the next one. The end of a drain
// changes none, so the test tells of that, too. Without timers the node does nothing between two changes.
func (w *Watch) Follow(ctx context.Context, node Controls, member *upgrade.Membership, next func() <-chan struct{}, timers bool) {
	w.member, w.reportedAt = member, time.Now()
	var due <-chan time.Time // nil: never
	if timers {
		tick := time.NewTicker(ReadInterval)
		defer tick.Stop()
		due = tick.C
	}
	for !w.absent {
		changed := next()
		w.applyOrders(ctx, node)
		w.report(ctx, node)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case <-due:
		}
	}
}

// applyOrders reads the orders and carries them out. While they cannot be read, the last ones hold. It reports whether it has read the first
// ones.
func (w *Watch) applyOrders(ctx context.Context, node Controls) (first bool) {
	before, unread := w.orders, w.unread
	err := w.read(ctx)
	if err != nil && ctx.Err() == nil && !w.failing {
		what := "it goes on as before and tries again"
		if w.unread {
			what = "its queues may be paused, so it begins no activity and tries again"
		}
		w.logger.Warn("orders to this node cannot be read: "+what, "err", err)
	}
	w.failing = err != nil
	first = unread && !w.unread
	if w.orders.Version == before.Version && !first {
		return false
	}
	if first || !maps.Equal(before.Paused, w.orders.Paused) {
		node.PauseQueues(w.Paused(nil))
	}
	if !maps.Equal(before.Paused, w.orders.Paused) {
		w.logger.Info("the set of paused queues has changed", "paused", len(w.orders.Paused))
	}
	if _, drain := w.orders.Drained[w.owner]; drain {
		node.Drain()
	} else {
		node.Undrain()
	}
	return first
}

// report writes the record if orders or state have changed, if the load has changed and the record has an age, or if the record is old.
func (w *Watch) report(ctx context.Context, node Controls) {
	state, load, age := node.State(), node.Load(), time.Since(w.reportedAt)
	changed := state != w.reportedState || w.orders.Version != w.reportedVersion
	if !changed && age < MaxReportInterval-ReadInterval/2 && (age < MinReportInterval || equal(&load, &w.reportedLoad)) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stored, err := w.member.Report(ctx, func(n *upgrade.Node) {
		n.State, n.Load, n.Seen = state, &load, w.orders.Version
		if w.counted == nil {
			return
		}
		if counts := w.counted(); counts != nil {
			n.Counts = counts
		}
	})
	if err != nil || !stored {
		return
	}
	w.reportedAt, w.reportedState, w.reportedLoad, w.reportedVersion = time.Now(), state, load, w.orders.Version
}

func equal(a, b *upgrade.Load) bool {
	return a.Turns == b.Turns && a.Activities == b.Activities && a.TurnSlots == b.TurnSlots && maps.Equal(a.Queues, b.Queues) &&
		a.Sessions == b.Sessions && maps.EqualFunc(a.Full, b.Full, slices.Equal)
}
