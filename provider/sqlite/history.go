package sqlite

import (
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlAppend       = `INSERT INTO perdure_history (key, execution, first_id, events, data, sum) VALUES (?, ?, ?, ?, ?, ?)`
	sqlAddExecution = `INSERT INTO perdure_execution (key, execution, status, length, ended_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET status = excluded.status, length = excluded.length, ended_at = excluded.ended_at`
)

// AppendEvents implements [relational.Rows].
func (t *historyRows) AppendEvents(h *relational.Head, count int, packed []byte) error {
	return t.do(sqlAppend, h.Key, h.Execution, h.Length+1, count, packed, checksum(packed))
}

// AddExecution implements [relational.Rows].
func (t *historyRows) AddExecution(key provider.UUID, execution int64, status provider.Status, length int64, at provider.Time) error {
	return t.do(sqlAddExecution, key, execution, status, length, at)
}

const sqlExecutionStatus = `SELECT status FROM perdure_execution WHERE key = ? AND execution = ?`

// ExecutionStatus implements [relational.Rows].
func (t *historyRows) ExecutionStatus(key provider.UUID, execution int64) (provider.Status, error) {
	status, err := t.integer(sqlExecutionStatus, key, execution)
	return provider.Status(status), err
}
