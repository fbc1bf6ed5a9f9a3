package sqlite

import (
	"sync/atomic"
	"time"

	sqlite "modernc.org/sqlite"

	"github.com/perdure/perdure/provider/internal/relational"
)

// How often the writer polls for commits of other processes: pollActive for a while after one was seen, pollShared while another
// process has the file, pollWaiting while a call here waits for one that may come, else pollIdle. It is also pollIdle while the
// kernel reports writes.
const (
	pollActive  = 2 * time.Millisecond
	pollShared  = 10 * time.Millisecond
	pollWaiting = 12 * time.Millisecond
	pollIdle    = 250 * time.Millisecond
	activeFor   = time.Second
	armAfter    = 100 * time.Millisecond // without a commit, before the kernel is asked to report the next one
	recheckEach = 50 * time.Microsecond  // a share of one core
)

// connection is what the writer uses of its connection besides statements.
type connection interface {
	sqlite.FileControl
	sqlite.DBStatus
}

// otherProcesses is what this process knows of the other processes that have the file.
type otherProcesses struct {
	file         connection  // the writer's
	logWatcher   *logWatcher // or nil
	presence     *presence
	commits      *atomic.Int64 // of our own
	otherCommits *atomic.Int64 // of other processes

	version           uint32
	known             bool
	changed           bool // a commit of another process was seen and not yet acted upon
	alone             bool
	polledAt          time.Time
	seenAt            time.Time // last commit of another process
	livenessAt        time.Time // when the last liveness check was
	processesRead     bool      // processes is up to date
	processes         []int64   // the processes whose owners the file has
	recheckPending    bool      // waiting calls were not woken for the last commit of another process
	recheckedAt       time.Time
	activeAt          time.Time // when a commit was last found, or reported by the kernel
	commitsSeen       int64     // commits, when armWatcher ran last
	idleSinceArmed    bool      // a poll since the kernel was asked to report the next write has found nothing
	watcherSuspect    bool      // the kernel has not yet reported one of ours
	watcherUnreliable bool      // it does not
	leases            leases
}

// recheck makes the calls that wait read the store again after a commit of another process. They all read, whichever instance
// the commit concerned, so the more there are, the less often.
func (o *otherProcesses) recheck(hub *relational.Hub) {
	if !o.recheckPending || time.Since(o.recheckedAt) < min(time.Duration(hub.Waiting())*recheckEach, activeFor) {
		return
	}
	o.recheckPending, o.recheckedAt = false, time.Now()
	hub.Recheck()
}

const sqlDataVersion = "PRAGMA data_version"

// poll reads the version of what the writing connection has cached, which changes with each transaction that finds a
// commit of another process. It reports whether all that is cached of the file is stale. Outside of a transaction the pragma
// begins another one, which is its only purpose.
func (o *otherProcesses) poll(db statements, begun bool) (stale bool, err error) {
	if !begun {
		if _, err := db.integer(sqlDataVersion); err != nil {
			return false, err
		}
	}
	v, err := o.file.FileControlDataVersion("main")
	if err != nil {
		return false, err //nolint:wrapcheck // callers say what they were about
	}
	o.polledAt = time.Now()
	if v == o.version && o.known {
		return false, nil
	}
	if o.known {
		o.changed, o.seenAt, o.leases.readPending = true, o.polledAt, true
		o.otherCommits.Add(1)
		o.alone = false // the other process may be gone again, and have left leases
		o.processesRead = false
	}
	o.version, o.known = v, true
	return true, nil
}

// committed notes the version after a commit of our own. On an error the commit seems another process's, which costs a read of the file.
func (o *otherProcesses) committed() {
	if v, err := o.file.FileControlDataVersion("main"); err == nil {
		o.version = v
	}
}

// pollInterval is how long the writer may go without a poll. A call of this process may be waiting for a commit of another one.
func (o *otherProcesses) pollInterval(waiting bool) time.Duration {
	switch {
	case o.logWatcher.isArmed() && o.idleSinceArmed && !o.watcherUnreliable:
		return pollIdle
	case time.Since(o.seenAt) < activeFor:
		return pollActive
	case o.alone && waiting:
		return pollWaiting
	case o.alone:
		return pollIdle
	default:
		return pollShared
	}
}

// armWatcher asks the kernel to report the next write when there was none for a while. The kernel reports the beginning of a
// commit, so the commit may not be there yet: then the writer polls on, and once more after it has asked. A file system whose
// kernel does not report our own commits is not trusted.
func (o *otherProcesses) armWatcher(reported, found bool) error {
	own := o.commits.Load() != o.commitsSeen
	o.commitsSeen = o.commits.Load()
	if o.logWatcher.isArmed() {
		o.idleSinceArmed, o.watcherUnreliable, o.watcherSuspect = !found, o.watcherSuspect, o.watcherSuspect || own
		return nil
	}
	o.idleSinceArmed, o.watcherSuspect = false, false
	switch {
	case reported && !found && !own:
		o.seenAt, o.activeAt = o.polledAt, o.polledAt
	case reported || found || own:
		o.activeAt = o.polledAt
	case !o.watcherUnreliable && time.Since(o.activeAt) >= armAfter:
		err := o.logWatcher.arm()
		o.watcherUnreliable = err != nil
		return err
	}
	return nil
}

// deadProcesses lists the processes that are gone and have left owners in the file.
func (o *otherProcesses) deadProcesses(db statements) (gone []int64, err error) {
	if !o.processesRead {
		o.processes = o.processes[:0]
		err := db.each(sqlProcesses, func(r *row) error {
			o.processes = append(o.processes, r.int(0))
			return nil
		}, o.presence.process)
		if err != nil {
			return nil, err
		}
		o.processesRead = true
	}
	for _, process := range o.processes {
		if o.presence.gone(process) {
			gone = append(gone, process)
		}
	}
	return gone, nil
}
