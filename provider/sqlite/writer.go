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
	store        *store
	conn         *conn
	queue        *relational.Queue
	waiters      waiters
	ended        chan struct{}
	needsLogRoom chan struct{} // closed after logAfter commits
	commits      atomic.Int64
	answerReads  atomic.Int64 // of answers, by calls of Ask
	otherCommits atomic.Int64 // of other processes
	unnamed      atomic.Int64 // commits of our own that wake no followers of what they changed
	ownTxEnded   atomic.Bool  // a transaction of the program has ended: poll for what it stored

	lock sync.Mutex // held by the goroutine that runs a group: the writer's own, or that of a caller that leads

	// Guarded by lock.
	tx         *tx
	committer  committer
	claimer    claimer
	others     otherProcesses
	logLimiter logLimiter
	wakeAt     time.Time // when the goroutine wakes unless it is woken before
	grouped    bool      // the last group had several members
	group      []*relational.Member
	excluded   map[*relational.Member]struct{} // they found damage: their errors stand, and reruns of the group skip them
}

func newWriter(s *store, c *conn, file connection) *writer {
	w := &writer{
		store: s, conn: c, queue: relational.NewQueue(), ended: make(chan struct{}), needsLogRoom: make(chan struct{}),
		excluded: make(map[*relational.Member]struct{}), logLimiter: logLimiter{log: s.log, path: s.path, last: make(map[string]time.Time)},
	}
	w.others = otherProcesses{file: file, presence: s.presence, commits: &w.commits, otherCommits: &w.otherCommits}
	w.tx = newWriterTx(bound{writerContext(), c}, s.clock, s.presence.process, &w.others.leases)
	w.committer = committer{store: s, tx: w.tx, others: &w.others, rows: make(map[provider.UUID]*provider.Instance)}
	w.claimer = claimer{committer: &w.committer, tx: w.tx, waiters: &w.waiters, logLimiter: &w.logLimiter}
	return w
}

// stop ends the loop after what is queued.
func (w *writer) stop() {
	w.waiters.stop()
	w.queue.Stop()
	<-w.ended
}

// submit runs fn in a group that no caller has to wait for.
func (w *writer) submit(op string, fn func(*tx) error) *relational.Member {
	m := &relational.Member{Op: op, Done: make(chan struct{}), Run: func(*relational.Tx) error { return fn(w.tx) }}
	if !w.queue.Submit(m, false) {
		close(m.Done)
	}
	return m
}

// awaitRun waits until a member was run. It returns false if quit is closed before, which withdraws the member.
func (w *writer) awaitRun(m *relational.Member, quit <-chan struct{}) bool {
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
func (w *writer) waiting() bool { return w.waiters.any() || w.store.hub.Waiting() > 0 }

// sleepTime is how long the writer may sleep when nothing is queued.
func (w *writer) sleepTime() time.Duration {
	sleep := w.others.pollInterval(w.waiting()) - time.Since(w.others.polledAt)
	if w.waiters.any() {
		sleep = w.tx.schedule.within(sleep, w.store.clock)
	}
	if w.others.leases.readPending {
		sleep = min(sleep, time.Until(w.others.leases.nextRead))
	}
	return max(sleep, 0)
}

// poll polls for commits of other processes when it is time to. Afterwards others.changed reports whether to try all that
// waits.
func (w *writer) poll() {
	o := &w.others
	reported, ownTxEnded := o.logWatcher.takeWritten(), w.ownTxEnded.Swap(false)
	if !reported && !ownTxEnded && time.Since(o.polledAt) < o.pollInterval(w.waiting()) {
		return
	}
	seen := o.seenAt
	if err := w.committer.poll(); err != nil {
		o.polledAt = time.Now()
		w.logLimiter.report("other processes' writes cannot be seen", err)
	}
	if err := o.armWatcher(reported, !o.seenAt.Equal(seen)); err != nil {
		w.logLimiter.report("the kernel does not tell of other processes' writes", err)
	}
}

// notify reports to waiting calls and listeners what other processes did.
func (w *writer) notify() {
	over, err := w.others.leases.check(w.tx.db)
	if err != nil {
		w.logLimiter.report("leased tasks cannot be read", err)
	}
	w.store.hub.Announce(over)
	w.others.recheck(w.store.hub)
}
