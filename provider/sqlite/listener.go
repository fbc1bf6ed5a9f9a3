package sqlite

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

const (
	sqlListened    = `UPDATE perdure_instance SET listened = 1 WHERE key = ?`
	sqlSetListener = `INSERT INTO perdure_listener (key, listener, kind, execution, event_id, delay, engine_level, payload, sum)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
	sqlListener = `SELECT listener, kind, execution, event_id, delay, engine_level, payload, sum FROM perdure_listener WHERE key = ?`
)

// SetListener implements [relational.Rows].
func (t *instanceRows) SetListener(key provider.UUID, l *provider.Listener) error {
	if err := t.do(sqlListened, key); err != nil {
		return err
	}
	m := &l.Message
	return t.do(sqlSetListener, key, l.Key, m.Kind, m.Execution, m.EventID, micros(m.Delay), m.EngineLevel, m.Payload, checksum(m.Payload))
}

// Listener implements [relational.Rows].
func (t *instanceRows) Listener(key provider.UUID) (*provider.Listener, error) {
	l := &provider.Listener{}
	found, err := t.one(sqlListener, func(r *row) {
		l.Key = r.uuid(0)
		l.Message = provider.NewMessage{
			Kind: provider.MessageKind(r.int(1)), Execution: r.int(2), EventID: r.int(3), Delay: time.Duration(r.int(4)) * time.Microsecond,
			EngineLevel: r.int(5), Payload: r.sound(6, 7),
		}
	}, key)
	if err != nil {
		return nil, fmt.Errorf("perdure_listener %s: %w", key, err)
	}
	if !found {
		return nil, nil //nolint:nilnil // no listener is not an error
	}
	return l, nil
}
