package sqlite

import (
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A tx is what members of a group and fetches run in: a transaction with the rows that the rules work on.
type tx struct {
	unit
	rows

	// Nil in a transaction of a caller, in which no fetch runs.
	schedule   *fetchSchedule
	emptyKinds emptyKinds
}

// rows implement [relational.Rows]. Their parts refer to each other only through that interface.
type rows struct {
	kindRows
	instanceRows
	inboxRows
	historyRows
	taskRows
	sessionRows
}

type (
	inboxRows   struct{ *unit }
	historyRows struct{ *unit }
)

var (
	_ relational.Rows          = (*rows)(nil)
	_ relational.FirstTurnRows = (*rows)(nil)
	_ relational.HandOffRows   = (*rows)(nil)
)

const never = relational.Never

// newTx makes the transaction of a caller.
func newTx(db statements, clock *clock) *tx {
	t := &tx{unit: unit{db: db, clock: clock}}
	u := &t.unit
	t.rows = rows{
		kindRows{unit: u, kinds: relational.NewKinds()},
		instanceRows{unit: u},
		inboxRows{u},
		historyRows{u},
		taskRows{unit: u},
		sessionRows{unit: u},
	}
	t.Tx = relational.Tx{Rows: &t.rows, Heads: make(map[provider.UUID]*relational.Head), Effects: relational.NewEffects()}
	return t
}

// newWriterTx makes the transaction of the writer, which is used again and caches what it has read.
func newWriterTx(db statements, clock *clock, process int64, leases *leases) *tx {
	t := newTx(db, clock)
	t.owners = &owners{process: process, stored: make(map[string]struct{})}
	t.schedule = &fetchSchedule{dueTimes: dueTimes{wall: never, elapsed: never, stale: true}, skips: make(map[provider.TaskRef]time.Time)}
	t.emptyKinds = make(emptyKinds)
	t.allKinds, t.rowCache, t.leases, t.unskip = true, make(map[provider.UUID]*cachedRow), leases, t.schedule.unskip
	return t
}
