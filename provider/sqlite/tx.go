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
	agenda *agenda
	quiet  quiet
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

// newWriterTx makes the transaction of the writer, which is used again and remembers what it has read.
func newWriterTx(db statements, clock *clock, process int64, leases *leases) *tx {
	t := newTx(db, clock)
	t.owners = &owners{process: process, stored: make(map[string]struct{})}
	t.agenda = &agenda{dues: dues{wall: never, elapsed: never, stale: true}, shuns: make(map[provider.TaskRef]time.Time)}
	t.quiet = make(quiet)
	t.allKinds, t.made, t.leases, t.pardon = true, make(map[provider.UUID]*made), leases, t.agenda.pardon
	return t
}
