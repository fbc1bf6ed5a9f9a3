package postgres

import (
	"cmp"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// Statements over arrays: one row of parameters for each written row.
const (
	sqlRetire    = `UPDATE perdure.instance SET current = false WHERE key = ANY($1::uuid[])`
	sqlInstances = `INSERT INTO perdure.instance (key, id, kind, status, execution, version, parent_key, parent_id, parent_execution,
	parent_event, parent_close, request_id, created_at, updated_at, ready_at, inbox_messages, inbox_bytes, next_message, fetch_at)
	SELECT key, id, kind, 1, 1, version, parent_key, parent_id, parent_execution, parent_event, parent_close, request_id, at, n.at,
	ready_at, 1, bytes, 2, ready_at FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::uuid[], $5::uuid[], $6::text[], $7::bigint[],
	$8::bigint[], $9::smallint[], $10::text[], $11::bigint[], $12::bigint[], $13::bigint[]) n (key, id, kind, version, parent_key,
	parent_id, parent_execution, parent_event, parent_close, request_id, at, ready_at, bytes)`
	// The row of an instance without a parent as its first turn leaves it.
	sqlBegunInstances = `INSERT INTO perdure.instance (key, id, kind, status, execution, version, history_length, history_bytes, request_id,
	created_at, updated_at, ready_at, inbox_messages, inbox_bytes, next_message, sticky_owner, sticky_until, fetch_at)
	SELECT key, id, kind, 1, 1, version, length, bytes, request_id, at, n.at, ready_at, inbox, inbox_bytes, next, owner, until, fetch_at
	FROM unnest($1::uuid[], $2::text[], $3::bigint[], $4::uuid[], $5::bigint[], $6::bigint[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[],
	$11::bigint[], $12::bigint[], $13::text[], $14::bigint[], $15::bigint[])
	n (key, id, kind, version, length, bytes, request_id, at, ready_at, inbox, inbox_bytes, next, owner, until, fetch_at)`
	sqlDeleteConsumed = `DELETE FROM perdure.inbox i USING unnest($1::uuid[], $2::bigint[]) w (key, id) WHERE i.key = ANY(ARRAY[w.key]) AND i.id = w.id`
	// The payload of a task goes into the dead letters within the database.
	sqlEachTask        = `t.key = ANY(ARRAY[w.key]) AND t.execution = w.execution AND t.event_id = w.event_id`
	sqlDeadLetterTasks = `INSERT INTO perdure.dead_letter (task, key, instance_id, execution, event_id, kind, timer, queue, name, priority,
	reason, at, payload, fairness_key, session, limit_key) SELECT true, t.key, w.instance, t.execution, t.event_id, 0, false, w.queue, w.name,
	w.priority, w.reason, w.at, t.payload, t.fairness_key, t.session, t.limit_key
	FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::bigint[])
	w (key, execution, event_id, instance, queue, name, priority, reason, at) JOIN perdure.task t ON ` + sqlEachTask
	sqlEndTasks = `DELETE FROM perdure.task t USING unnest($1::uuid[], $2::bigint[], $3::bigint[]) w (key, execution, event_id)
	WHERE ` + sqlEachTask
	sqlHistory = `INSERT INTO perdure.history (key, execution, first_id, events, data)
	SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bytea[])`
	// Columns that are the same for all plain handed-off tasks are not sent.
	sqlHandOffs = `INSERT INTO perdure.task (key, execution, event_id, kind, state, deliveries, token, owner, lease_until, scheduled_at,
	fetch_at, not_before_at, payload) SELECT key, execution, event_id, kind, 2, 1, token, owner, until, n.at, until, n.at, payload
	FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::bigint[], $5::uuid[], $6::text[], $7::bigint[], $8::bigint[], $9::bytea[])
	n (key, execution, event_id, kind, token, owner, until, at, payload)`
	sqlMessages = `INSERT INTO perdure.inbox (key, id, visible_at, kind, timer, execution, event_id, payload)
	SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::smallint[], $5::boolean[], $6::bigint[], $7::bigint[], $8::bytea[])`
	sqlNoTimers = `DELETE FROM perdure.inbox i USING unnest($1::uuid[], $2::bigint[]) w (key, execution)
	WHERE i.key = ANY(ARRAY[w.key]) AND i.execution = w.execution AND i.timer`
	sqlDeadLetterInbox = `WITH gone AS (DELETE FROM perdure.inbox i USING unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[])
	w (key, instance, reason, at) WHERE i.key = ANY(ARRAY[w.key]) RETURNING i.*, w.instance, w.reason, w.at)
	INSERT INTO perdure.dead_letter (task, key, instance_id, execution, event_id, kind, timer, queue, name, priority, reason, at, payload)
	SELECT false, key, instance, execution, event_id, kind, timer, '', '', 0, reason, at, payload FROM gone ORDER BY key, visible_at, id`
	sqlNoTasks = `DELETE FROM perdure.task t USING unnest($1::uuid[], $2::bigint[]) w (key, execution)
	WHERE t.key = ANY(ARRAY[w.key]) AND t.execution = w.execution RETURNING t.kind, t.lease_until`
	sqlExecutions = `INSERT INTO perdure.execution (key, execution, status, length, ended_at)
	SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::smallint[], $4::bigint[], $5::bigint[])
	ON CONFLICT (key, execution) DO UPDATE SET status = excluded.status, length = excluded.length, ended_at = excluded.ended_at`
	sqlCustom = `INSERT INTO perdure.outcome (key, custom_status) SELECT * FROM unnest($1::uuid[], $2::bytea[])
	ON CONFLICT (key) DO UPDATE SET custom_status = excluded.custom_status`
	sqlResults = `INSERT INTO perdure.outcome (key, result) SELECT * FROM unnest($1::uuid[], $2::bytea[])
	ON CONFLICT (key) DO UPDATE SET result = excluded.result`
	sqlFailedResults = `INSERT INTO perdure.outcome (key, result, failure_group, excerpt, failed_at)
	SELECT * FROM unnest($1::uuid[], $2::bytea[], $3::text[], $4::bytea[], $5::bigint[]) ON CONFLICT (key) DO UPDATE SET
	result = excluded.result, failure_group = excluded.failure_group, excerpt = excluded.excerpt, failed_at = excluded.failed_at`
	sqlSetAttributes = `WITH flagged AS (UPDATE perdure.instance SET attributes = true WHERE key = ANY($1::uuid[]) AND NOT attributes)
	INSERT INTO perdure.attribute (key, name, kind, text, number)
	SELECT * FROM unnest($1::uuid[], $2::text[], $3::smallint[], $4::text[], $5::bigint[])
	ON CONFLICT (key, name) DO UPDATE SET kind = excluded.kind, text = excluded.text, number = excluded.number`
	sqlSetValues = `INSERT INTO perdure.value (key, name, value) SELECT * FROM unnest($1::uuid[], $2::text[], $3::bytea[])
	ON CONFLICT (key, name) DO UPDATE SET value = excluded.value`
	sqlDropValues = `DELETE FROM perdure.value v USING unnest($1::uuid[], $2::text[]) w (key, name)
	WHERE v.key = ANY(ARRAY[w.key]) AND v.name = w.name`
	sqlBlock = `UPDATE perdure.instance i SET blocked_count = CASE WHEN w.fresh THEN 1 ELSE i.blocked_count + 1 END,
	blocked_reason = w.reason, blocked_message = w.message, blocked_since = CASE WHEN w.fresh THEN w.at ELSE i.blocked_since END
	FROM unnest($1::uuid[], $2::text[], $3::bytea[], $4::bigint[], $5::boolean[]) w (key, reason, message, at, fresh) WHERE i.key = ANY(ARRAY[w.key])`
	sqlUnblock = `UPDATE perdure.instance SET blocked_count = 0, blocked_reason = '', blocked_message = '', blocked_since = 0
	WHERE key = ANY($1::uuid[])`
	sqlHoldTasks = `UPDATE perdure.task SET fetch_at = 0, expire_at = 0 WHERE key = ANY($1::uuid[])`
	sqlListeners = `WITH flagged AS (UPDATE perdure.instance SET listened = true WHERE key = ANY($1::uuid[]))
	INSERT INTO perdure.listener (key, listener, kind, execution, event_id, delay, engine_level, payload)
	SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[])`
)

// sender queues statements into a batch.
type sender struct {
	names *names
	batch *pgx.Batch
}

// put queues a statement with one array for each column, unless there are no rows.
func put[Row any](s sender, sql string, list []Row, fill func(*columns, []Row)) {
	if len(list) == 0 {
		return
	}
	c := &columns{oneRow: len(list) == 1}
	fill(c, list)
	s.batch.Queue(s.names.over(sql, len(list)), c.args...)
}

func (s sender) keys(sql string, keys []provider.UUID) {
	if len(keys) > 0 {
		s.batch.Queue(s.names.sql(sql), uuids(keys))
	}
}

func (s sender) executionRefs(sql string, refs []executionRef) {
	put(s, sql, refs, fillExecutions)
}

// instances inserts instances in the order of their IDs, by one statement. So two groups that insert the same ones wait
// for each other in one direction only. It returns the heads that are yet to be written.
func (s sender) instances(rows []newInstance) (heads []relational.Head) {
	slices.SortFunc(rows, func(a, b newInstance) int { return cmp.Compare(a.head.ID, b.head.ID) })
	if !slices.ContainsFunc(rows, func(r newInstance) bool { return !r.begun || !r.req.Parent.Key.IsZero() }) {
		put(s, sqlBegunInstances, rows, fillBegun)
		return nil
	}
	for i := range rows {
		if rows[i].begun {
			heads = append(heads, rows[i].head)
		}
	}
	put(s, sqlInstances, rows, func(c *columns, rows []newInstance) {
		column(c, rows, func(r *newInstance) pgtype.UUID { return uuid(r.head.Key) })
		column(c, rows, func(r *newInstance) string { return r.head.ID })
		column(c, rows, func(r *newInstance) int64 { return r.head.Kind })
		column(c, rows, func(r *newInstance) pgtype.UUID { return uuid(r.head.Version) })
		column(c, rows, func(r *newInstance) pgtype.UUID { return uuid(r.req.Parent.Key) })
		column(c, rows, func(r *newInstance) string { return r.req.Parent.ID })
		column(c, rows, func(r *newInstance) int64 { return r.req.Parent.Execution })
		column(c, rows, func(r *newInstance) int64 { return r.req.Parent.EventID })
		column(c, rows, func(r *newInstance) int16 { return int16(r.req.Parent.Close) })
		column(c, rows, func(r *newInstance) string { return r.req.RequestID })
		column(c, rows, func(r *newInstance) int64 { return int64(r.created) })
		column(c, rows, func(r *newInstance) int64 { return int64(r.head.ReadyAt) })
		column(c, rows, func(r *newInstance) int64 { return r.head.InboxBytes })
	})
	return heads
}

func (s sender) taskDeadLetters(rows []taskDeadLetter) {
	put(s, sqlDeadLetterTasks, rows, func(c *columns, rows []taskDeadLetter) {
		column(c, rows, func(r *taskDeadLetter) pgtype.UUID { return uuid(r.ref.Key) })
		column(c, rows, func(r *taskDeadLetter) int64 { return r.ref.Execution })
		column(c, rows, func(r *taskDeadLetter) int64 { return r.ref.EventID })
		column(c, rows, func(r *taskDeadLetter) string { return r.instance })
		column(c, rows, func(r *taskDeadLetter) string { return r.kind.Queue })
		column(c, rows, func(r *taskDeadLetter) string { return r.kind.Name })
		column(c, rows, func(r *taskDeadLetter) int64 { return r.kind.Priority })
		column(c, rows, func(r *taskDeadLetter) string { return r.reason })
		column(c, rows, func(r *taskDeadLetter) int64 { return int64(r.at) })
	})
}

// tasks inserts new tasks: the common columns, and those that few tasks use.
func (s sender) tasks(rows []newTask) {
	handed, plain := split(rows, (*newTask).handedOff)
	plain, ranked := split(plain, func(t *newTask) bool { return t.StartBy == 0 && t.Rank == 0 })
	put(s, sqlHandOffs, handed, fillHandOffs)
	put(s, sqlTasks, plain, fillTasks)
	put(s, sqlRankedTasks, ranked, func(c *columns, rows []newTask) {
		fillTasks(c, rows)
		fillRanked(c, rows)
	})
}

// changedTasks writes the last state of each task, because a statement may update a row only once.
func (s sender) changedTasks(all []changedTask) {
	last := make(map[provider.TaskRef]int, len(all))
	rows := make([]changedTask, 0, len(all))
	for _, t := range all {
		if i, ok := last[t.TaskRef]; ok {
			if t.details == nil {
				t.details = rows[i].details
			}
			rows[i] = t
			continue
		}
		last[t.TaskRef] = len(rows)
		rows = append(rows, t)
	}
	put(s, sqlChangeTasks, rows, fillChanged)
}

func (s sender) messages(rows []messageRow) {
	put(s, sqlMessages, rows, fillMessages)
}

// descriptions writes what observers read. The last of several values for one name counts.
func (s sender) descriptions(o *ops) {
	put(s, sqlCustom, lastOf(o.custom, func(r *keyBytes) provider.UUID { return r.key }), fillBytes)
	results, sql, fill := lastOf(o.results, func(r *resultRow) provider.UUID { return r.key }), sqlResults, fillResults
	if slices.ContainsFunc(results, resultRow.ofFailures) { // one statement takes all
		sql, fill = sqlFailedResults, fillFailedResults
	}
	put(s, sql, results, fill)
	type place struct {
		key  provider.UUID
		name string
	}
	attributes := lastOf(o.attributes, func(r *attributeRow) place { return place{r.key, r.Name} })
	put(s, sqlSetAttributes, attributes, func(c *columns, rows []attributeRow) {
		column(c, rows, func(r *attributeRow) pgtype.UUID { return uuid(r.key) })
		column(c, rows, func(r *attributeRow) string { return r.Name })
		column(c, rows, func(r *attributeRow) int16 { return int16(r.Kind) })
		column(c, rows, func(r *attributeRow) string { return r.Text })
		column(c, rows, func(r *attributeRow) int64 { return r.Number })
	})
	var set, drop []valueRow
	for _, v := range lastOf(o.values, func(r *valueRow) place { return place{r.key, r.Key} }) {
		if v.Value == nil {
			drop = append(drop, v)
		} else {
			set = append(set, v)
		}
	}
	put(s, sqlSetValues, set, func(c *columns, rows []valueRow) {
		column(c, rows, func(r *valueRow) pgtype.UUID { return uuid(r.key) })
		column(c, rows, func(r *valueRow) string { return r.Key })
		column(c, rows, func(r *valueRow) []byte { return r.Value })
	})
	put(s, sqlDropValues, drop, func(c *columns, rows []valueRow) {
		column(c, rows, func(r *valueRow) pgtype.UUID { return uuid(r.key) })
		column(c, rows, func(r *valueRow) string { return r.Key })
	})
}

func (s sender) heads(all []relational.Head) {
	rows := lastOf(all, func(h *relational.Head) provider.UUID { return h.Key })
	put(s, sqlHeads, rows, fillHeads)
}

// listeners stores the listeners of new instances.
func (s sender) listeners(rows []listenerRow) {
	put(s, sqlListeners, rows, func(c *columns, rows []listenerRow) {
		column(c, rows, func(r *listenerRow) pgtype.UUID { return uuid(r.key) })
		column(c, rows, func(r *listenerRow) pgtype.UUID { return uuid(r.Key) })
		column(c, rows, func(r *listenerRow) int16 { return int16(r.Message.Kind) })
		column(c, rows, func(r *listenerRow) int64 { return r.Message.Execution })
		column(c, rows, func(r *listenerRow) int64 { return r.Message.EventID })
		column(c, rows, func(r *listenerRow) int64 { return r.Message.Delay.Microseconds() })
		column(c, rows, func(r *listenerRow) int64 { return r.Message.EngineLevel })
		column(c, rows, func(r *listenerRow) []byte { return r.Message.Payload })
	})
}
