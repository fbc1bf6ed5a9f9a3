package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/perdure/perdure/provider/internal/relational"
)

// A single step is a group that writes one instance, and at most one row of each other kind. It is one statement. Each
// write is a common table expression. Five statements would cost as much for messages, snapshots and locks as for their
// work. Without this, W4 takes 9 % more CPU.

// writes is a set of such writes.
type writes uint16

const (
	ofPlainTurn writes = 1 << iota
	ofHead
	ofEnded
	ofBegun
	ofConsumed
	ofHistory
	ofHandOff
	ofMessage
	ofResult
	ofRest
	ofFailed
)

// hotSteps are the most frequent single steps: the first turn of an orchestration, the next one, and the last one, after
// an activity or a timer. A new connection prepares their statements and runs them for no rows, so that no call pays for that.
//
//nolint:gochecknoglobals // constant
var hotSteps = []writes{
	ofBegun | ofHistory | ofHandOff,
	ofPlainTurn | ofEnded | ofHistory | ofHandOff,
	ofPlainTurn | ofEnded | ofHistory | ofResult | ofRest,
	ofHead | ofConsumed | ofHistory | ofResult | ofRest,
}

// stepWrites lists the writes in the order of their bits. A guarded write must find its row.
//
//nolint:gochecknoglobals // constant
var stepWrites = []struct {
	name, sql string
	guarded   bool
}{
	{"step", sqlPlainTurnsAsTheyWere, true},
	{"head", sqlHeadsAsTheyWere, true},
	{"ended", sqlTasksAsTheyWere, true},
	{"begun", sqlBegunInstances, false},
	{"consumed", sqlDeleteConsumed, false},
	{"history", sqlHistory, false},
	{"task", sqlHandOffs, false},
	{"message", sqlMessages, false},
	{"result", sqlResults, false},
	{"rest", sqlNoTasks, false},
	{"failed", sqlFailedResults, false},
}

const (
	// The guarded writes run while the columns are computed, in their order. All others run after that. The conditions
	// are those of sqlCachedBegin. The time is NULL when a new connection runs the statement for no rows.
	sqlOneStatement = ` SELECT set_config('lock_timeout', '10ms', true), ` + sqlNow + `,
	1 / (CASE WHEN ` + sqlNow + ` NOT BETWEEN $1::bigint AND $1 + 100000 THEN 0 ELSE 1 END),
	CASE WHEN $1 IS NULL THEN 0 ELSE txid_current() & 4294967295 END`
	sqlGuard = `, 1 / (CASE WHEN (SELECT count(*) FROM %s) = ($%d IS NOT NULL)::int THEN 1 ELSE 0 END)`
	// The other writes do not see what a guarded one removed.
	sqlFreed     = `, (SELECT string_agg(kind::text, ' ') FROM rest WHERE lease_until > 0)`
	sqlNoneFreed = `, ''`
)

// sql returns the statement for a set of writes. Its first parameter is the time; those of each write follow.
func (set writes) sql() string {
	with, columns, n := make([]string, 0, len(stepWrites)), sqlOneStatement, 1
	for i, write := range stepWrites {
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
		with, n = append(with, write.name+" AS ("+singleRow(sql)+")"), n+most
	}
	if set&ofRest == 0 {
		columns += sqlNoneFreed
	} else {
		columns += sqlFreed
	}
	return "WITH " + strings.Join(with, ", ") + columns
}

// stepSQL returns the statement of a single step with these writes.
func (n *names) stepSQL(set writes) string { return buildOnce(n, n.steps, set, n.buildStep) }

func (n *names) buildStep(set writes) string { return n.inSchema(set.sql()) }

// boundStatement is a statement with its parameters, such as that of a single step.
type boundStatement struct {
	sql  string
	args []any
}

// oneStatement returns the statement of a group, if the group is a single step whose writes fit into one.
func (c *commits) oneStatement(u *unit, fx *relational.Effects) (step boundStatement, ok bool) {
	o := &u.ops
	if !c.db.wireProtocol || len(fx.Turns) > 0 || !o.isSingleStep() || c.anyWatched(u, fx.Changed) {
		return step, false
	}
	f := stepBuilder{columns: columns{oneRow: true, args: append(make([]any, 0, maxStepArgs), int64(u.now))}}
	for i := range o.heads {
		known := u.cached[o.heads[i].Key]
		if known == nil {
			return step, false
		}
		bit, fill := ofHead, fillHeads
		if isPlainTurn(known.Head, o.heads[i]) {
			bit, fill = ofPlainTurn, fillPlainTurns
		}
		take(&f, bit, o.heads, fill)
		fillAsTheyWere(&f.columns, o.heads, u.cached)
	}
	take(&f, ofEnded, o.ended, fillHeld)
	take(&f, ofBegun, o.instances, fillBegun)
	take(&f, ofConsumed, o.consumed, fillConsumed)
	take(&f, ofHistory, o.history, fillHistory)
	take(&f, ofHandOff, o.tasks, fillHandOffs)
	take(&f, ofMessage, o.messages, fillMessages)
	results, failed := split(o.results, func(r *resultRow) bool { return !r.ofFailures() })
	take(&f, ofResult, results, fillResults)
	take(&f, ofRest, o.noTasks, fillExecutions)
	take(&f, ofFailed, failed, fillFailedResults)
	return boundStatement{c.db.names.stepSQL(f.set), f.args}, true
}

// stepBuilder is a single step that is being built.
type stepBuilder struct {
	columns
	set writes
}

// take adds a write if there is a row for it. It is called in the order of the bits.
func take[Row any](f *stepBuilder, bit writes, rows []Row, fill func(*columns, []Row)) {
	if len(rows) > 0 {
		f.set |= bit
		fill(&f.columns, rows)
	}
}

// maxStepArgs is about how many parameters a single step has.
const maxStepArgs = 48

// mayBeSingleStep reports whether a call with these needs may be a single step that its caller commits. A create with its first turn is none,
// because its needs name its key twice: with callers that commit it, p95 of W3 rose from 5.4 to 7.2 ms, in six of six pairs.
func mayBeSingleStep(n *relational.Needs) bool {
	consumed := len(n.Timers)
	for i := range n.Inbox {
		consumed += len(n.Inbox[i].Named)
	}
	return len(n.Keys) == 1 && len(n.Tasks) <= 1 && consumed <= 1
}
