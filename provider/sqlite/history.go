package sqlite

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlAppend = `INSERT INTO perdure_history (key, execution, first_id, events, data, sum) VALUES (?, ?, ?, ?, ?, ?)`
	sqlEvents = `SELECT first_id, events, data, sum FROM perdure_history WHERE key = ? AND execution = ? AND first_id >=
		coalesce((SELECT max(first_id) FROM perdure_history WHERE key = ? AND execution = ? AND first_id <= ?), 0)
		ORDER BY first_id`
	sqlExecution    = `SELECT status, length FROM perdure_execution WHERE key = ? AND execution = ?`
	sqlAddExecution = `INSERT INTO perdure_execution (key, execution, status, length) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET status = excluded.status, length = excluded.length`
	sqlHistoryHead = `SELECT execution, status, history_length, version FROM perdure_instance WHERE key = ?`
)

// AppendEvents implements [relational.Rows].
func (t *historyRows) AppendEvents(h *relational.Head, count int, packed []byte) error {
	return t.do(sqlAppend, h.Key, h.Execution, h.Length+1, count, packed, checksum(packed))
}

// AddExecution implements [relational.Rows].
func (t *historyRows) AddExecution(key provider.UUID, execution int64, status provider.Status, length int64) error {
	return t.do(sqlAddExecution, key, execution, status, length)
}

const sqlExecutionStatus = `SELECT status FROM perdure_execution WHERE key = ? AND execution = ?`

// ExecutionStatus implements [relational.Rows].
func (t *historyRows) ExecutionStatus(key provider.UUID, execution int64) (provider.Status, error) {
	status, err := t.integer(sqlExecutionStatus, key, execution)
	return provider.Status(status), err
}

// errHistory marks stored history that cannot be read.
var errHistory = fmt.Errorf("perdure_history: %w", errRow)

// ReadHistory implements [provider.Provider].
func (rd *reader) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (res provider.ReadHistoryResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	if req.MaxBytes == 0 {
		req.MaxBytes = provider.MaxFetchBytes
	}
	err = rd.readSnapshot(ctx, "read history", func(c *conn) error {
		plain := context.WithoutCancel(ctx) // a few rows: an interrupt would cost more than it saves
		if err := c.historyHead(plain, &req, &res); err != nil {
			return err
		}
		to := res.Length
		if req.To > 0 {
			to = min(to, req.To)
		}
		if req.From > to {
			return nil
		}
		return c.events(plain, &req, to, &res)
	})
	if err != nil {
		return provider.ReadHistoryResult{}, err
	}
	return res, nil
}

// historyHead finds the execution that a request names.
func (c *conn) historyHead(ctx context.Context, req *provider.ReadHistoryRequest, res *provider.ReadHistoryResult) error {
	found, err := c.one(ctx, sqlHistoryHead, func(r *row) {
		res.Execution, res.Status, res.Length, res.Version = r.int(0), provider.Status(r.int(1)), r.int(2), r.uuid(3)
	}, req.Key)
	if err != nil {
		return err
	}
	if found && req.Execution != 0 && req.Execution != res.Execution {
		res.Execution = req.Execution
		found, err = c.one(ctx, sqlExecution, func(r *row) {
			res.Status, res.Length = provider.Status(r.int(0)), r.int(1)
		}, req.Key, req.Execution)
	}
	if err == nil && !found {
		err = fmt.Errorf("instance %s, execution %d: %w", req.Key, req.Execution, provider.ErrNotFound)
	}
	return err
}

// events reads the events From..to that fit.
func (c *conn) events(ctx context.Context, req *provider.ReadHistoryRequest, to int64, res *provider.ReadHistoryResult) error {
	next, size := req.From, 0
	full := false
	err := c.each(ctx, sqlEvents, func(r *row) error {
		id, last := r.int(0), r.int(0)+r.int(1)-1
		data := r.sound(2, 3)
		if r.bad != nil {
			return fmt.Errorf("perdure_history: instance %s, execution %d: events %d to %d: %w", req.Key, res.Execution, id, last, r.bad)
		}
		if id > next {
			return fmt.Errorf("%w: instance %s, execution %d: events %d to %d are missing", errHistory, req.Key, res.Execution, next, id-1)
		}
		for ; id <= last && id <= to; id++ {
			event, rest, err := relational.NextEvent(data)
			if err != nil {
				return fmt.Errorf("%w: instance %s, execution %d: event %d: %w", errHistory, req.Key, res.Execution, id, err)
			}
			data = rest
			if id < next {
				continue
			}
			if len(res.Events) > 0 && size+len(event) > req.MaxBytes {
				full = true
				return errStop
			}
			size += len(event)
			res.Events = append(res.Events, provider.Event{ID: id, Data: event})
			next = id + 1
		}
		if next > to {
			return errStop
		}
		return nil
	}, req.Key, res.Execution, req.Key, res.Execution, req.From)
	if err != nil {
		return err
	}
	if !full && next <= to {
		return fmt.Errorf("%w: instance %s, execution %d: events %d to %d are missing", errHistory, req.Key, res.Execution, next, to)
	}
	res.More = full
	return nil
}
