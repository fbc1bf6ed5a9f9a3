package sqlite

import (
	"time"

	sqlite "modernc.org/sqlite"
)

// How often the writer looks for commits of other processes: hot for a while after one
// was seen, warm while another process is there, lone while somebody here waits for one that may
// come, else cold, as it is when the kernel tells of the next write.
const (
	lookHot  = 2 * time.Millisecond
	lookWarm = 10 * time.Millisecond
	lookLone = 12 * time.Millisecond
	lookCold = 250 * time.Millisecond
	hotFor   = time.Second
	calmFor  = 100 * time.Millisecond // without a commit, before the kernel is asked to tell of the next one
	tellEach = 50 * time.Microsecond  // a share of one core
)

// foreign watches for what other processes do to the file.
type foreign struct {
	version uint32
	known   bool
	changed bool // a commit of another process was seen and not yet acted upon
	alone   bool
	looked  time.Time
	seen    time.Time // last foreign commit
	census  time.Time // when the last one was
	listed  bool      // others is up to date
	others  []int64   // the processes of which the file has owners
	owed    bool      // waiting calls have not heard of the last foreign commit
	told    time.Time
	stirred time.Time // when a commit was last found, or told of by the kernel
	commits int64     // of our own, at the last watch
	calm    bool      // a look since the kernel was asked to tell of the next one has found nothing
	doubted bool      // the kernel has not yet told of one of ours
	deaf    bool      // it does not
}

// tell makes the calls that wait read the store again after a foreign commit: all of them,
// whichever it concerned, so the more there are the less often.
func (w *writer) tell() {
	w.hear()
	f := &w.foreign
	if !f.owed || time.Since(f.told) < min(time.Duration(w.store.hub.Waiting())*tellEach, hotFor) {
		return
	}
	f.owed, f.told = false, time.Now()
	w.store.hub.Recheck()
}

const sqlDataVersion = "PRAGMA data_version"

// look asks for the version of what the writing connection has cached, which changes with each transaction that finds a foreign commit. Outside
// of one it begins another, which is all that the pragma is for. On a change all that is cached of the file is void.
func (w *writer) look() error {
	if !w.begun {
		if _, err := w.tx.db.integer(sqlDataVersion); err != nil {
			return err
		}
	}
	v, err := w.file.FileControlDataVersion("main")
	if err != nil {
		return err //nolint:wrapcheck // callers say what they were about
	}
	f := &w.foreign
	f.looked = time.Now()
	if v == f.version && f.known {
		return nil
	}
	if f.known {
		f.changed, f.seen, w.holding.owed = true, f.looked, true
		f.alone = false // whoever it was may have gone again, and left leases
		f.listed = false
	}
	f.version, f.known = v, true
	w.tx.forget()
	w.due.stale = true
	return nil
}

// written takes note of a commit of our own: its version is not foreign, and its pages are in the log.
func (w *writer) written() {
	w.backlog.last = time.Now()
	if n, _, err := w.file.Status(sqlite.DBStatusCacheWrite, false); err == nil {
		w.backlog.written = n
	}
	if v, err := w.file.FileControlDataVersion("main"); err == nil { // else it seems foreign, which costs no more than a look at the file
		w.foreign.version = v
	}
}

// interval is how long the writer may go without a look.
func (w *writer) interval() time.Duration {
	f := &w.foreign
	switch {
	case w.news.awaited() && f.calm && !f.deaf:
		return lookCold
	case time.Since(f.seen) < hotFor:
		return lookHot
	case f.alone && w.awaited():
		return lookLone
	case f.alone:
		return lookCold
	default:
		return lookWarm
	}
}

// watch looks when it is time to; afterwards foreign.changed says whether to recheck all that waits.
func (w *writer) watch() {
	f := &w.foreign
	rang, nudged := w.news.heard(), w.nudged.Swap(false)
	if !rang && !nudged && time.Since(f.looked) < w.interval() {
		return
	}
	seen := f.seen
	if err := w.look(); err != nil {
		f.looked = time.Now()
		w.complain("other processes' writes cannot be seen", err)
	}
	w.listen(rang, !f.seen.Equal(seen))
}

// listen leaves it to the kernel to tell of the next write when there was none for a while. As it tells when a commit begins, what it
// told of may not have come yet: then the writer looks on, and once more after it has asked. A file system of which it does not tell our
// own commits is not trusted.
func (w *writer) listen(rang, came bool) {
	f := &w.foreign
	own := w.commits.Load() != f.commits
	f.commits = w.commits.Load()
	if w.news.awaited() {
		f.calm, f.deaf, f.doubted = !came, f.doubted, f.doubted || own
		return
	}
	f.calm, f.doubted = false, false
	switch {
	case rang && !came && !own:
		f.seen, f.stirred = f.looked, f.looked
	case rang || came || own:
		f.stirred = f.looked
	case !f.deaf && time.Since(f.stirred) >= calmFor:
		if err := w.news.await(); err != nil {
			f.deaf = true
			w.complain("the kernel does not tell of other processes' writes", err)
		}
	}
}
