package sqlite

import "time"

// How often the writer looks for commits of other processes: hot for a while after one
// was seen and somebody here waits, warm while another process is there, else cold.
const (
	lookHot    = 2 * time.Millisecond
	lookWarm   = 10 * time.Millisecond
	lookCold   = 250 * time.Millisecond
	hotFor     = time.Second
	presenceIn = 250 * time.Millisecond
)

// foreign watches for what other processes do to the file.
type foreign struct {
	version  int64
	known    bool
	changed  bool // a commit of another process was seen and not yet acted upon
	alone    bool
	looked   time.Time
	seen     time.Time // last foreign commit
	presence time.Time // when alone was found out
}

const sqlDataVersion = "PRAGMA data_version"

// look reads data_version on the writing connection, which is blind to its own commits. On a change all
// that is cached of the file is void.
func (w *writer) look() error {
	v, err := w.tx.db.integer(sqlDataVersion)
	if err != nil {
		return err
	}
	f := &w.foreign
	f.looked = time.Now()
	if v == f.version && f.known {
		return nil
	}
	if f.known {
		f.changed, f.seen = true, f.looked
		f.alone = false // whoever it was may have gone again, and left leases
	}
	f.version, f.known = v, true
	w.tx.forget()
	w.due.stale = true
	return nil
}

// interval is how long the writer may go without a look.
func (w *writer) interval() time.Duration {
	f := &w.foreign
	switch {
	case f.alone:
		return lookCold
	case time.Since(f.seen) < hotFor:
		return lookHot
	default:
		return lookWarm
	}
}

// watch looks when it is time to; afterwards foreign.changed says whether to recheck all that waits.
func (w *writer) watch() {
	f := &w.foreign
	if time.Since(f.looked) < w.interval() {
		return
	}
	if err := w.look(); err != nil {
		f.looked = time.Now()
		w.store.log.Warn("perdure sqlite: cannot see other processes' writes", "path", w.store.path, "error", err)
		return
	}
	if time.Since(f.presence) >= presenceIn {
		w.census()
	}
}

// census finds out whether other processes have the file open. When the last of them has
// gone, so have the holders of leases whose owners this process never served.
func (w *writer) census() {
	f := &w.foreign
	f.presence = time.Now()
	if err := w.gate.enter(); err != nil {
		return // the turnstile will tell the next writing call
	}
	alone := w.gate.alone()
	w.gate.leave()
	if alone && !f.alone {
		w.orphans()
	}
	f.alone = alone
}
