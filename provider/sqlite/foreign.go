package sqlite

import (
	"sync/atomic"
	"time"

	sqlite "modernc.org/sqlite"

	"github.com/perdure/perdure/provider/internal/relational"
)

// How often the writer looks for commits of other processes: hot for a while after one was seen, warm while another process
// has the file, lone while a call here waits for one that may come, else cold. It is also cold while the kernel reports writes.
const (
	lookHot  = 2 * time.Millisecond
	lookWarm = 10 * time.Millisecond
	lookLone = 12 * time.Millisecond
	lookCold = 250 * time.Millisecond
	hotFor   = time.Second
	calmFor  = 100 * time.Millisecond // without a commit, before the kernel is asked to report the next one
	tellEach = 50 * time.Microsecond  // a share of one core
)

// connection is what the writer uses of its connection besides statements.
type connection interface {
	sqlite.FileControl
	sqlite.DBStatus
}

// foreign is what this process knows of the other processes that have the file.
type foreign struct {
	file      connection // the writer's
	news      *news      // or nil
	here      *presence
	commits   *atomic.Int64 // of our own
	sightings *atomic.Int64 // of commits of other processes

	version  uint32
	known    bool
	changed  bool // a commit of another process was seen and not yet acted upon
	alone    bool
	looked   time.Time
	seen     time.Time // last foreign commit
	census   time.Time // when the last one was
	listed   bool      // others is up to date
	others   []int64   // the processes whose owners the file has
	owed     bool      // waiting calls have not heard of the last foreign commit
	told     time.Time
	stirred  time.Time // when a commit was last found, or reported by the kernel
	reviewed int64     // commits, when listen ran last
	calm     bool      // a look since the kernel was asked to report the next write has found nothing
	doubted  bool      // the kernel has not yet reported one of ours
	deaf     bool      // it does not
	leases   leases
}

// recheck makes the calls that wait read the store again after a foreign commit. They all read, whichever instance the commit
// concerned, so the more there are, the less often.
func (f *foreign) recheck(hub *relational.Hub) {
	if !f.owed || time.Since(f.told) < min(time.Duration(hub.Waiting())*tellEach, hotFor) {
		return
	}
	f.owed, f.told = false, time.Now()
	hub.Recheck()
}

const sqlDataVersion = "PRAGMA data_version"

// look reads the version of what the writing connection has cached, which changes with each transaction that finds a
// foreign commit. It reports whether all that is cached of the file is void. Outside of a transaction the pragma begins
// another one, which is its only purpose.
func (f *foreign) look(db statements, begun bool) (void bool, err error) {
	if !begun {
		if _, err := db.integer(sqlDataVersion); err != nil {
			return false, err
		}
	}
	v, err := f.file.FileControlDataVersion("main")
	if err != nil {
		return false, err //nolint:wrapcheck // callers say what they were about
	}
	f.looked = time.Now()
	if v == f.version && f.known {
		return false, nil
	}
	if f.known {
		f.changed, f.seen, f.leases.owed = true, f.looked, true
		f.sightings.Add(1)
		f.alone = false // the other process may be gone again, and have left leases
		f.listed = false
	}
	f.version, f.known = v, true
	return true, nil
}

// committed notes the version after a commit of our own. On an error the commit seems foreign, which costs a look at the file.
func (f *foreign) committed() {
	if v, err := f.file.FileControlDataVersion("main"); err == nil {
		f.version = v
	}
}

// interval is how long the writer may go without a look. A call of this process may be waiting for a foreign commit.
func (f *foreign) interval(waiting bool) time.Duration {
	switch {
	case f.news.awaited() && f.calm && !f.deaf:
		return lookCold
	case time.Since(f.seen) < hotFor:
		return lookHot
	case f.alone && waiting:
		return lookLone
	case f.alone:
		return lookCold
	default:
		return lookWarm
	}
}

// listen asks the kernel to report the next write when there was none for a while. The kernel reports the beginning of a
// commit, so the commit may not be there yet: then the writer looks on, and once more after it has asked. A file system whose
// kernel does not report our own commits is not trusted.
func (f *foreign) listen(rang, came bool) error {
	own := f.commits.Load() != f.reviewed
	f.reviewed = f.commits.Load()
	if f.news.awaited() {
		f.calm, f.deaf, f.doubted = !came, f.doubted, f.doubted || own
		return nil
	}
	f.calm, f.doubted = false, false
	switch {
	case rang && !came && !own:
		f.seen, f.stirred = f.looked, f.looked
	case rang || came || own:
		f.stirred = f.looked
	case !f.deaf && time.Since(f.stirred) >= calmFor:
		err := f.news.await()
		f.deaf = err != nil
		return err
	}
	return nil
}

// departed lists the processes that are gone and have left owners in the file.
func (f *foreign) departed(db statements) (gone []int64, err error) {
	if !f.listed {
		f.others = f.others[:0]
		err := db.each(sqlProcesses, func(r *row) error {
			f.others = append(f.others, r.int(0))
			return nil
		}, f.here.process)
		if err != nil {
			return nil, err
		}
		f.listed = true
	}
	for _, process := range f.others {
		if f.here.gone(process) {
			gone = append(gone, process)
		}
	}
	return gone, nil
}
