package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const sqlDeadLetterMessage = `WITH gone AS (DELETE FROM perdure.inbox WHERE key = $1 AND id = $2 RETURNING *),
	kept AS (INSERT INTO perdure.dead_letter (task, key, instance_id, execution, event_id, kind, timer, queue, name, priority, reason, at, payload)
		SELECT false, key, $3, execution, event_id, kind, timer, '', '', 0, $4, $5, payload FROM gone)
	SELECT coalesce(octet_length(payload), 0)::bigint FROM gone`

// DeadLetterMessage implements [relational.Rows].
func (r *inboxRows) DeadLetterMessage(h *relational.Head, id int64, reason string, now provider.Time) (bytes int64, found bool, err error) {
	if _, err := r.box(h.Key); err != nil {
		return 0, false, err
	}
	rows, err := r.t.query(sqlDeadLetterMessage, uuid(h.Key), id, h.ID, reason, int64(now))
	if err != nil {
		return 0, false, err
	}
	sizes, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(sizes) == 0 {
		return 0, false, err
	}
	box := r.inbox[h.Key]
	if box.removed == nil {
		box.removed = make(map[int64]struct{})
	}
	box.removed[id] = struct{}{}
	return sizes[0], true, nil
}
