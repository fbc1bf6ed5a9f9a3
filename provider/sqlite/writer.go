package sqlite

import (
	"sync"
	"sync/atomic"
	"time"

	sqlite "modernc.org/sqlite"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// Bounds of one group: what its transaction holds of the log, and for how long others wait.
const (
	maxGroup      = 256
	maxGroupBytes = 8 << 20
)

// connection is what the writer asks of its own beside statements.
type connection interface {
	sqlite.FileControl
	sqlite.DBStatus
}

// A writer owns the writing connection. It folds all calls that wait into one transaction, on a goroutine of its own or on
// that of a caller that leads.
type writer struct {
	store *store
	conn  *conn
	file  connection // of conn
	gate  *entrance
	news  *news // or nil

	queue *relational.Queue
	ended chan struct{}

	mu      sync.Mutex
	parked  []*parked
	fresh   bool // a parked fetch has not been tried
	stopped bool

	helm sync.Mutex // of who runs a group: the goroutine, or a caller that leads

	// Guarded by helm.
	tx         *tx
	begun      bool
	foreign    foreign
	holding    holding
	enrolled   map[string]struct{}            // lease owners that the file knows to be of this process
	shuns      map[provider.TaskRef]time.Time // damaged items, and until when fetches pass over them
	met        []*damage                      // not yet shown on its instances
	unswept    time.Time                      // until when leases are not swept, because of damage
	complaints map[string]time.Time
	due        dues
	asked      asked
	backlog    backlog
	wakes      time.Time // when the goroutine looks again unless it is called
	crowd      bool      // the last group had several members
	tried      tried
	group      []*relational.Member
	out        map[*relational.Member]struct{}      // they met damage: their errors stand, and reruns of the group pass over them
	rows       map[provider.UUID]*provider.Instance // that waiting calls will want, of the transaction
	worn       chan struct{}                        // closed after logAfter commits
	commits    atomic.Int64
	turns      atomic.Int64
	dropped    atomic.Int64
	nudged     atomic.Bool // a transaction of the program has ended: look for what it stored
}

func newWriter(s *store, c *conn, file connection, gate *entrance) *writer {
	w := &writer{
		store: s, conn: c, file: file, gate: gate, queue: relational.NewQueue(), ended: make(chan struct{}),
		enrolled: make(map[string]struct{}), shuns: make(map[provider.TaskRef]time.Time), complaints: make(map[string]time.Time),
		worn: make(chan struct{}), out: make(map[*relational.Member]struct{}), rows: make(map[provider.UUID]*provider.Instance),
	}
	w.due = dues{wall: never, elapsed: never, stale: true}
	w.tx = newTx(w, c)
	return w
}

// loop runs until stop. It does what no caller leads.
func (w *writer) loop() {
	defer close(w.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		rest, ended := w.work()
		if ended {
			return
		}
		if w.queue.Len() > 0 { // its caller found the helm taken
			continue
		}
		timer.Reset(rest)
		select {
		case <-w.queue.Signal:
		case <-timer.C:
		}
	}
}

// work runs groups until nothing is left to do, and tells for how long that will be so.
func (w *writer) work() (rest time.Duration, ended bool) {
	w.helm.Lock()
	defer w.helm.Unlock()
	for {
		fresh, stopped := w.take()
		if stopped && len(w.group) == 0 {
			return 0, true
		}
		if len(w.group) == 0 && !fresh && !w.pressing() {
			if w.checkpoint() {
				continue
			}
			rest = w.patience()
			w.wakes = time.Now().Add(rest)
			return rest, false
		}
		w.attend()
		w.round()
	}
}

// take takes up the next group, and tells whether a fetch waits to be tried.
func (w *writer) take() (fresh, stopped bool) {
	w.group, stopped = w.queue.Take(w.group[:0], maxGroup, maxGroupBytes)
	w.mu.Lock()
	defer w.mu.Unlock()
	fresh, w.fresh = w.fresh, false
	return fresh, stopped
}

// stop ends the loop after what is queued.
func (w *writer) stop() {
	w.mu.Lock()
	w.stopped = true
	w.mu.Unlock()
	w.queue.Stop()
	<-w.ended
}

// later runs fn in a group that nobody has to wait for.
func (w *writer) later(op string, fn func(*tx) error) *relational.Member {
	m := &relational.Member{Op: op, Done: make(chan struct{}), Run: func(*relational.Tx) error { return fn(w.tx) }}
	if !w.queue.Submit(m, false) {
		close(m.Done)
	}
	return m
}
