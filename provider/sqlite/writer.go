package sqlite

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// Bounds of one group, which bound its share of the log and how long other calls wait for it.
const (
	maxGroup      = 256
	maxGroupBytes = 8 << 20
)

// A writer owns the writing connection. It folds all calls that wait into one transaction, on a goroutine of its own or on
// that of a caller that leads.
type writer struct {
	store     *store
	conn      *conn
	queue     *relational.Queue
	parking   parking
	ended     chan struct{}
	worn      chan struct{} // closed after logAfter commits
	commits   atomic.Int64
	looks     atomic.Int64 // of calls of Ask at their answers
	sightings atomic.Int64 // of commits of other processes
	nudged    atomic.Bool  // a transaction of the program has ended: look for what it stored

	helm sync.Mutex // held by the goroutine that runs a group: the writer's own, or that of a caller that leads

	// Guarded by helm.
	tx         *tx
	committer  committer
	claimer    claimer
	foreign    foreign
	complaints complaints
	wakes      time.Time // when the goroutine looks again unless it is called
	crowd      bool      // the last group had several members
	group      []*relational.Member
	out        map[*relational.Member]struct{} // they met damage: their errors stand, and reruns of the group pass over them
}

func newWriter(s *store, c *conn, file connection) *writer {
	w := &writer{
		store: s, conn: c, queue: relational.NewQueue(), ended: make(chan struct{}), worn: make(chan struct{}),
		out: make(map[*relational.Member]struct{}), complaints: complaints{log: s.log, path: s.path, last: make(map[string]time.Time)},
	}
	w.foreign = foreign{file: file, here: s.here, commits: &w.commits, sightings: &w.sightings}
	w.tx = newWriterTx(bound{writerContext(), c}, s.clock, s.here.process, &w.foreign.leases)
	w.committer = committer{store: s, tx: w.tx, foreign: &w.foreign, rows: make(map[provider.UUID]*provider.Instance)}
	w.claimer = claimer{committer: &w.committer, tx: w.tx, parking: &w.parking, complaints: &w.complaints}
	return w
}

// stop ends the loop after what is queued.
func (w *writer) stop() {
	w.parking.stop()
	w.queue.Stop()
	<-w.ended
}

// later runs fn in a group that no caller has to wait for.
func (w *writer) later(op string, fn func(*tx) error) *relational.Member {
	m := &relational.Member{Op: op, Done: make(chan struct{}), Run: func(*relational.Tx) error { return fn(w.tx) }}
	if !w.queue.Submit(m, false) {
		close(m.Done)
	}
	return m
}

// ran waits until a member was run. It returns false if quit is closed before, which withdraws the member.
func (w *writer) ran(m *relational.Member, quit <-chan struct{}) bool {
	select {
	case <-m.Done:
		return true
	case <-quit:
		if !w.queue.Withdraw(m) {
			<-m.Done
		}
		return false
	}
}

// waiting reports whether a call of this process waits for what others may write.
func (w *writer) waiting() bool { return w.parking.any() || w.store.hub.Waiting() > 0 }

// patience is how long the writer may sleep when nothing is queued.
func (w *writer) patience() time.Duration {
	sleep := w.foreign.interval(w.waiting()) - time.Since(w.foreign.looked)
	if w.parking.any() {
		sleep = w.tx.agenda.within(sleep, w.store.clock)
	}
	if w.foreign.leases.owed {
		sleep = min(sleep, time.Until(w.foreign.leases.again))
	}
	return max(sleep, 0)
}

// watch looks for commits of other processes when it is time to. Afterwards foreign.changed reports whether to try all that
// waits.
func (w *writer) watch() {
	f := &w.foreign
	rang, nudged := f.news.heard(), w.nudged.Swap(false)
	if !rang && !nudged && time.Since(f.looked) < f.interval(w.waiting()) {
		return
	}
	seen := f.seen
	if err := w.committer.look(); err != nil {
		f.looked = time.Now()
		w.complaints.add("other processes' writes cannot be seen", err)
	}
	if err := f.listen(rang, !f.seen.Equal(seen)); err != nil {
		w.complaints.add("the kernel does not tell of other processes' writes", err)
	}
}

// tell reports to waiting calls and listeners what other processes did.
func (w *writer) tell() {
	over, err := w.foreign.leases.check(w.tx.db)
	if err != nil {
		w.complaints.add("leased tasks cannot be read", err)
	}
	w.store.hub.Announce(over)
	w.foreign.recheck(w.store.hub)
}
