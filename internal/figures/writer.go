package figures

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

const (
	// patience bounds one call of the store, and leaving what a node writes when it ends.
	patience = 5 * time.Second
	leaving  = 2 * time.Second
	// behindMost is how many records of past times wait for a store that fails. Older ones are given up, which shows as a gap.
	behindMost = 18
	// late is how much after the end of its minute a count still belongs to it.
	late = 30 * time.Second
)

// Writer writes what a Counter counts into the records of a node. Run is for one goroutine; Counted may be called by others meanwhile.
type Writer struct {
	store   provider.Keeper
	counter *Counter
	owner   string
	clock   func() provider.Time // the storage's time; 0: not known yet
	made    time.Time            // from when the Counter counts, by the clock of the process
	runs    []provider.Capability
	logger  *slog.Logger

	offset  atomic.Int64              // between that clock and the storage's, in microseconds, as begin has measured it
	since   atomic.Int64              // from when the node has counted without a break; 0: it does not yet, or never
	until   atomic.Int64              // all that was counted before is stored
	behind  atomic.Bool               // something that was to be stored is not
	coarse  [len(levels)]atomic.Int64 // for each level, until when all is in its records; 0: as until says
	chunks  []*chunk                  // the newest of each level, and older ones that are not stored
	closed  provider.Time             // nothing is added to a time before it
	pruned  provider.Time
	failing bool
	absent  bool // the store keeps no records
	wrote   bool
	noted   bool // the code versions of the node
}

// chunk is a record that may still change. The finest is written each minute, the others when a slot of them is over.
type chunk struct {
	level   *level
	start   provider.Time
	version int64         // stored
	record  record        // what was counted
	open    provider.Time // end of the last slot, if that is not in due yet; 0: all is
	due     *record       // to be stored; nil: nothing is
	first   provider.Time // begin of the first slot that is not stored
}

// pending reports whether something is not stored.
func (c *chunk) pending() bool { return c.open != 0 || c.due != nil }

// add adds what was counted in a minute.
func (c *chunk) add(minute provider.Time, d *delta) {
	slot := floor(minute, c.level.slot)
	if !c.pending() {
		c.first = slot
	}
	c.record.add(int((slot-c.start)/provider.Time(c.level.slot.Microseconds())), d)
	c.open = slot.Add(c.level.slot)
}

// close makes what was counted until a time due to be stored.
func (c *chunk) close(until provider.Time) {
	c.due = c.record.clone()
	if c.due.Until = until; c.level != &levels[0] {
		c.due.Until = min(until, c.open)
	}
	c.open = 0
}

// NewWriter returns the Writer of a node that runs some orchestrations. now returns the storage's time, or 0 as long as it is not known.
func NewWriter(
	store provider.Keeper, counter *Counter, owner string, runs []provider.Capability, now func() provider.Time, logger *slog.Logger,
) *Writer {
	return &Writer{store: store, counter: counter, owner: owner, runs: runs, clock: now, made: time.Now(), logger: logger}
}

// now returns the storage's time. Begin must have returned true.
func (w *Writer) now() provider.Time {
	if now := w.clock(); now != 0 {
		return now
	}
	return provider.TimeOf(w.made).Add(time.Since(w.made)) + provider.Time(w.offset.Load())
}

// Counted returns from when to when all that the node did is in its records, where no record means that nothing happened; nil: it keeps none.
func (w *Writer) Counted() *upgrade.Counts {
	c := upgrade.Counts{Since: provider.Time(w.since.Load()), Until: provider.Time(w.until.Load())}
	if c.Since == 0 {
		return nil
	}
	now := w.now() // before the next line: what is counted meanwhile happens later
	c.Looks, c.Silence = w.counter.periods()
	if !w.counter.dirty.Load() && !w.behind.Load() {
		c.Until = max(now, c.Until)
	}
	// The last: a flush meanwhile may have left something to the coarse records.
	c.Tens, c.Hours = provider.Time(w.coarse[1].Load()), provider.Time(w.coarse[2].Load())
	return &c
}

// Run writes once a minute until ctx is done, as long as there is something to write. Before it returns it writes the rest.
func (w *Writer) Run(ctx context.Context) {
	for again := time.Second; !w.absent && w.since.Load() == 0; again = min(2*again, time.Minute) {
		if !w.begin(ctx) && !pause(ctx, again) {
			w.end(ctx)
			return
		}
	}
	for !w.absent {
		if !w.behind.Load() && !w.await(ctx) {
			w.end(ctx)
			return
		}
		minute := floor(w.now(), time.Minute)
		for left := time.Duration(1); left > 0; {
			if left = minute.Add(time.Minute).Sub(w.now()); left > 0 && !pause(ctx, left) {
				w.end(ctx)
				return
			}
		}
		w.flush(ctx, max(minute, floor(w.now().Add(-late), time.Minute)), false)
		w.prune(ctx)
	}
}

// await waits until something is counted, or a slot is over of which something is not stored. It returns false when ctx is done.
func (w *Writer) await(ctx context.Context) bool {
	var over <-chan time.Time
	first := provider.Time(0)
	for _, c := range w.chunks {
		if c.open != 0 && (first == 0 || c.open < first) {
			first = c.open
		}
	}
	if first != 0 {
		timer := time.NewTimer(first.Sub(w.now()))
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-w.counter.woken:
	case <-over:
	}
	return true
}

// pause waits. It returns false when ctx is done.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// begin notes the code versions of the node, and takes the store's time from the answer, from which the node counts. It reports whether the store
// has answered.
func (w *Writer) begin(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	now, err := announce(ctx, w.store, w.owner, w.runs)
	if errors.Is(err, errors.ErrUnsupported) {
		w.absent = true
		return true
	}
	if now == 0 {
		return false
	}
	w.noted = err == nil
	counts := time.Since(w.made)
	w.offset.Store(int64(now - provider.TimeOf(w.made).Add(counts)))
	w.until.Store(int64(now))
	w.since.Store(int64(now.Add(-counts)))
	return true
}

// flush adds what was counted to a minute, and writes what is due, or all if it is the last time.
func (w *Writer) flush(ctx context.Context, minute provider.Time, last bool) {
	w.behind.Store(true)
	minute = max(minute, w.closed)
	until := w.now()
	select {
	case <-w.counter.woken: // what it tells of is drained now
	default:
	}
	if w.counter.dirty.Load() {
		d := w.counter.drain()
		for _, c := range w.chunks {
			if c.open != 0 && c.open <= minute {
				c.close(c.open)
			}
		}
		for i := range levels {
			w.chunk(&levels[i], minute).add(minute, &d)
		}
	}
	for _, c := range w.chunks {
		switch fine := c.level == &levels[0]; {
		case c.open == 0 || !fine && !last && c.open > until:
			continue
		case !fine && !last:
			w.closed = max(w.closed, c.open)
		}
		c.close(until)
	}
	w.noteCoarse()
	err := w.write(ctx)
	w.noteCoarse()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		w.absent = true
	case err != nil:
		if !w.failing && ctx.Err() == nil {
			w.logger.Warn("figures of this node are not stored: trying again in a minute", "err", err)
		}
		w.failing = true
	default:
		w.failing, w.wrote = false, true
		w.until.Store(int64(until))
		w.behind.Store(false)
	}
}

// noteCoarse notes until when all is in the records of each level but the finest.
func (w *Writer) noteCoarse() {
	for i := 1; i < len(levels); i++ {
		first := provider.Time(0)
		for _, c := range w.chunks {
			if c.level == &levels[i] && c.pending() && (first == 0 || c.first < first) {
				first = c.first
			}
		}
		w.coarse[i].Store(int64(first))
	}
}

// chunk returns the record of a level that a minute belongs to.
func (w *Writer) chunk(l *level, minute provider.Time) *chunk {
	start := floor(minute, l.chunk())
	kept := w.chunks[:0]
	var found *chunk
	for _, c := range w.chunks {
		switch {
		case c.level == l && c.start == start:
			found = c
		case c.level == l && !c.pending():
			continue
		}
		kept = append(kept, c)
	}
	w.chunks = kept
	if found == nil {
		found = &chunk{level: l, start: start}
		w.chunks = append(w.chunks, found)
	}
	if len(w.chunks) > behindMost {
		past := slices.IndexFunc(w.chunks, func(c *chunk) bool { return c.start.Add(c.level.chunk()) <= minute })
		if past >= 0 { // the first one is the oldest
			lost := w.chunks[past]
			w.since.Store(max(w.since.Load(), int64(lost.start.Add(lost.level.chunk()))))
			w.chunks = slices.Delete(w.chunks, past, past+1)
		}
	}
	return found
}

// write stores all that is due.
func (w *Writer) write(ctx context.Context) error {
	for _, c := range w.chunks {
		if c.due == nil {
			continue
		}
		if err := w.put(ctx, c); err != nil {
			return err
		}
		if c.due = nil; c.open != 0 {
			c.first = c.open.Add(-c.level.slot)
		}
	}
	return nil
}

// put stores a record. Nobody else writes it, so a conflict is the work of an earlier put whose outcome was not known.
func (w *Writer) put(ctx context.Context, c *chunk) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	rec := *c.due
	rec.Since = provider.Time(w.since.Load())
	looks, silence := w.counter.periods()
	rec.Looks, rec.Silences = with(rec.Looks, looks), with(rec.Silences, silence)
	value, err := rec.encode()
	if err != nil {
		return err
	}
	req := provider.RecordRequest{
		Action: provider.RecordPut, Namespace: space, Key: key(c.level.letter, c.start, w.owner), Value: value, Expect: c.version,
	}
	_, err = w.store.Record(ctx, req)
	if errors.Is(err, provider.ErrConflict) {
		get := provider.RecordRequest{Action: provider.RecordGet, Namespace: space, Key: req.Key}
		found, gone := w.store.Record(ctx, get)
		switch {
		case gone == nil:
			req.Expect = found.Records[0].Version
		case errors.Is(gone, provider.ErrNotFound):
			req.Expect = 0
		default:
			return gone
		}
		_, err = w.store.Record(ctx, req)
	}
	if err == nil {
		c.version = req.Expect + 1
	}
	return err
}

// end writes the rest, and that the node has ended. A node that has run for less than a minute and counted nothing leaves no trace.
func (w *Writer) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer cancel()
	if w.since.Load() == 0 && (w.absent || !w.counter.dirty.Load() || !w.begin(ctx)) {
		return
	}
	if w.counter.dirty.Load() || w.behind.Load() || slices.ContainsFunc(w.chunks, (*chunk).pending) {
		if w.flush(ctx, floor(w.now(), time.Minute), true); w.absent {
			return
		}
	}
	c := w.Counted()
	lost := provider.Time(0)
	switch {
	case w.behind.Load(): // as if it was killed: some records may lack what others have
		lost = w.now()
	case !w.wrote && c.Until.Sub(c.Since) < time.Minute:
		return
	}
	_ = noteEnd(ctx, w.store, w.owner, endedAs(c, lost))
}

// noteEnd writes the record of a node that has ended, unless there is one.
func noteEnd(ctx context.Context, store provider.Keeper, owner string, e ended) error {
	value, err := encode(e)
	if err != nil {
		return err
	}
	_, err = store.Record(ctx, provider.RecordRequest{
		Action: provider.RecordPut, Namespace: space, Key: key(ends, max(e.Until, e.Lost), owner), Value: value,
	})
	if errors.Is(err, provider.ErrConflict) {
		return nil
	}
	return err
}

// NoteLost writes that a node was killed, whose entry in the list of nodes says from when to when it has counted.
func NoteLost(ctx context.Context, store provider.Keeper, n *upgrade.Node) error {
	s := spanOf(n)
	c := *n.Counts
	c.Since, c.Until = s.Since, s.Until
	return noteEnd(ctx, store, n.Owner, endedAs(&c, LostAt(n)))
}

const (
	// pruneEvery is how often a node looks for records that are too old, and pruneMost how many of each letter it removes then.
	pruneEvery = 10 * time.Minute
	pruneMost  = 100
)

// prune removes records that are too old, of all nodes, and notes the code versions if begin could not. What fails is done at the next time.
func (w *Writer) prune(ctx context.Context) {
	now := w.now()
	if now.Sub(w.pruned) < pruneEvery || w.behind.Load() {
		return
	}
	w.pruned = now
	if !w.noted {
		_, err := announce(ctx, w.store, w.owner, w.runs)
		w.noted = err == nil
	}
	for i := range levels {
		pruneBefore(ctx, w.store, levels[i].letter, now.Add(-levels[i].keep-levels[i].chunk()))
	}
	pruneBefore(ctx, w.store, ends, now.Add(-endsKept))
}

// pruneBefore removes records of a letter that begin before a time, a bounded number.
func pruneBefore(ctx context.Context, store provider.Keeper, letter string, at provider.Time) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	res, err := store.Record(ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: space, Prefix: letter + "/", Max: pruneMost})
	if err != nil {
		return
	}
	for i := range res.Records {
		r := &res.Records[i]
		if r.Key >= before(letter, at) {
			return
		}
		_, _ = store.Record(ctx, provider.RecordRequest{Action: provider.RecordDelete, Namespace: space, Key: r.Key, Expect: r.Version})
	}
}
