package postgres

import (
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
)

const sqlListener = `SELECT listener, kind, execution, event_id, delay, engine_level, payload FROM perdure.listener WHERE key = $1`

type listenerRow struct {
	provider.Listener
	key provider.UUID
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
