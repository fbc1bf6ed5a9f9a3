package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/perdure/perdure/provider/internal/relational"
)

// A lone step is one statement. Each write is a common table expression. Five statements would cost as much for
// messages, snapshots and locks as for their work. Without this, W4 takes 9 % more CPU.

// writes is a set of such writes.
type writes uint16

const (
	ofStep writes = 1 << iota
	ofHead
	ofEnded
	ofBirth
	ofEaten
	ofHistory
	ofHandOff
	ofMessage
	ofResult
	ofRest
)

// hotSteps are the most frequent lone steps: the first turn of an orchestration, the next one, and the last one, after
// an activity or a timer.
//
//nolint:gochecknoglobals // constant
var hotSteps = []writes{
	ofBirth | ofHistory | ofHandOff,
	ofStep | ofEnded | ofHistory | ofHandOff,
	ofStep | ofEnded | ofHistory | ofResult | ofRest,
	ofHead | ofEaten | ofHistory | ofResult | ofRest,
}

// fusible lists the writes in the order of their bits. A guarded write must find its row.
//
//nolint:gochecknoglobals // constant
var fusible = []struct {
	name, sql string
	guarded   bool
}{
	{"step", sqlStepsAsTheyWere, true},
	{"head", sqlHeadsAsTheyWere, true},
	{"ended", sqlTasksAsTheyWere, true},
	{"birth", sqlBegunInstances, false},
	{"eaten", sqlEat, false},
	{"history", sqlHistory, false},
	{"task", sqlHandOffs, false},
	{"message", sqlMessages, false},
	{"result", sqlResults, false},
	{"rest", sqlNoTasks, false},
}

const (
	// The guarded writes run while the columns are computed, in their order. All others run after that. The conditions
	// are those of sqlWarmBegin.
	sqlFused = ` SELECT set_config('lock_timeout', '10ms', true), ` + sqlNow + `,
	1 / (CASE WHEN ` + sqlNow + ` NOT BETWEEN $1::bigint AND $1 + 100000 THEN 0 ELSE 1 END),
	CASE WHEN $1 IS NULL THEN 0 ELSE txid_current() & 4294967295 END`
	sqlGuard = `, 1 / (CASE WHEN (SELECT count(*) FROM %s) = ($%d IS NOT NULL)::int THEN 1 ELSE 0 END)`
	// The other writes do not see what a guarded one removed.
	sqlFreed     = `, (SELECT string_agg(kind::text, ' ') FROM rest WHERE lease_until > 0)`
	sqlNoneFreed = `, ''`
)

// sql returns the statement for a set of writes. Its first parameter is the time; those of each write follow.
func (set writes) sql() string {
	with, columns, n := make([]string, 0, len(fusible)), sqlFused, 1
	for i, write := range fusible {
		if set&(1<<i) == 0 {
			continue
		}
		sql := write.sql
		if write.guarded {
			sql += ` RETURNING 1`
			columns += fmt.Sprintf(sqlGuard, write.name, n+1)
		}
		most := 0
		sql = parameter.ReplaceAllStringFunc(sql, func(found string) string {
			part := parameter.FindStringSubmatch(found)
			nth, _ := strconv.Atoi(part[1]) // it matched digits
			most = max(most, nth)
			return "$" + strconv.Itoa(n+nth) + part[2]
		})
		with, n = append(with, write.name+" AS ("+loneRow(sql)+")"), n+most
	}
	if set&ofRest == 0 {
		columns += sqlNoneFreed
	} else {
		columns += sqlFreed
	}
	return "WITH " + strings.Join(with, ", ") + columns
}

// fused returns the statement of a lone step with these writes.
func (n *names) fused(set writes) string { return made(n, n.steps, set, n.loneStep) }

func (n *names) loneStep(set writes) string { return n.here(set.sql()) }

// loneStep is the statement of a lone step with its parameters.
type loneStep struct {
	sql  string
	args []any
}

// fuse returns the statement of a group, if the group is a lone step whose writes can be fused.
func (c *commits) fuse(u *unit, fx *relational.Effects) (step loneStep, ok bool) {
	o := &u.ops
	if !c.db.fuses || len(fx.Turns) > 0 || !o.lone() || c.anyWatched(u, fx.Changed) {
		return step, false
	}
	f := fusion{columns: columns{lone: true, args: append(make([]any, 0, maxFused), int64(u.now))}}
	for i := range o.heads {
		known := u.cached[o.heads[i].Key]
		if known == nil {
			return step, false
		}
		bit, fill := ofHead, fillHeads
		if isStep(known.Head, o.heads[i]) {
			bit, fill = ofStep, fillSteps
		}
		take(&f, bit, o.heads, fill)
		fillAsTheyWere(&f.columns, o.heads, u.cached)
	}
	take(&f, ofEnded, o.ended, fillHeld)
	take(&f, ofBirth, o.instances, fillBegun)
	take(&f, ofEaten, o.eaten, fillEaten)
	take(&f, ofHistory, o.history, fillHistory)
	take(&f, ofHandOff, o.tasks, fillHandOffs)
	take(&f, ofMessage, o.messages, fillMessages)
	take(&f, ofResult, o.results, fillBytes)
	take(&f, ofRest, o.noTasks, fillExecutions)
	return loneStep{c.db.names.fused(f.set), f.args}, true
}

// fusion is a lone step that is being built.
type fusion struct {
	columns
	set writes
}

// take adds a write if there is a row for it. It is called in the order of the bits.
func take[Row any](f *fusion, bit writes, rows []Row, fill func(*columns, []Row)) {
	if len(rows) > 0 {
		f.set |= bit
		fill(&f.columns, rows)
	}
}

// maxFused is about how many parameters a lone step has.
const maxFused = 48

// mayBeLone reports whether a call with these needs may be a lone step.
func mayBeLone(n *relational.Needs) bool {
	eaten := len(n.Timers)
	for i := range n.Inbox {
		eaten += len(n.Inbox[i].Named)
	}
	return len(n.Keys) == 1 && len(n.Tasks) <= 1 && eaten <= 1
}
