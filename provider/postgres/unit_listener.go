package postgres

import (
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
)

const (
	sqlListeners = `WITH flagged AS (UPDATE perdure.instance SET listened = true WHERE key = ANY($1::uuid[]))
	INSERT INTO perdure.listener (key, listener, kind, execution, event_id, delay, engine_level, payload)
	SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::smallint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[])`
	sqlListener = `SELECT listener, kind, execution, event_id, delay, engine_level, payload FROM perdure.listener WHERE key = $1`
)

type listenerRow struct {
	provider.Listener
	key provider.UUID
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

// SetListener implements [relational.Rows].
func (r *instanceRows) SetListener(key provider.UUID, l *provider.Listener) error {
	r.t.ops.listeners = append(r.t.ops.listeners, listenerRow{*l, key})
	return nil
}

// Listener implements [relational.Rows].
func (r *instanceRows) Listener(key provider.UUID) (*provider.Listener, error) {
	rows, err := r.t.query(sqlListener, uuid(key))
	if err != nil {
		return nil, err
	}
	l, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (*provider.Listener, error) {
		l, delay := &provider.Listener{}, int64(0)
		m := &l.Message
		err := row.Scan(into(&l.Key), &m.Kind, &m.Execution, &m.EventID, &delay, &m.EngineLevel, &m.Payload)
		m.Delay = time.Duration(delay) * time.Microsecond
		return l, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // none is an answer
	}
	return l, err
}
