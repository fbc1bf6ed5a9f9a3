package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlHistoryHead = `SELECT execution, status, history_length, version FROM perdure.instance WHERE key = $1`
	sqlExecution   = `SELECT status, length FROM perdure.execution WHERE key = $1 AND execution = $2`
	sqlEvents      = `SELECT first_id, events, data FROM perdure.history WHERE key = $1 AND execution = $2 AND first_id >=
	coalesce((SELECT max(first_id) FROM perdure.history WHERE key = $1 AND execution = $2 AND first_id <= $3), 0) ORDER BY first_id LIMIT $4`
)

// historyPage is how many commits one statement reads.
const historyPage = 500

// errHistory marks stored history that cannot be decoded.
var errHistory = fmt.Errorf("history: %w", errRow)

// readHistory returns what its request asks for.
func (r *reader) readHistory(ctx context.Context, req provider.ReadHistoryRequest) (res provider.ReadHistoryResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	if req.MaxBytes == 0 {
		req.MaxBytes = provider.MaxFetchBytes
	}
	err = r.db.snapshot(ctx, "read history", func(ctx context.Context, tx pgx.Tx) error {
		res = provider.ReadHistoryResult{}
		if err := r.historyHead(ctx, tx, &req, &res); err != nil {
			return err
		}
		to := res.Length
		if req.To > 0 {
			to = min(to, req.To)
		}
		if req.From > to {
			return nil
		}
		return r.events(ctx, tx, &req, to, &res)
	})
	if err != nil {
		return provider.ReadHistoryResult{}, err
	}
	return res, nil
}

// historyHead finds the execution that a request names.
func (r *reader) historyHead(ctx context.Context, tx pgx.Tx, req *provider.ReadHistoryRequest, res *provider.ReadHistoryResult) error {
	b := r.db.byIndex()
	b.Queue(r.db.names.sql(sqlHistoryHead), uuid(req.Key)).QueryRow(func(r pgx.Row) error {
		return r.Scan(&res.Execution, &res.Status, &res.Length, into(&res.Version))
	})
	err := tx.SendBatch(ctx, b).Close()
	if err == nil && req.Execution != 0 && req.Execution != res.Execution {
		res.Execution = req.Execution
		err = tx.QueryRow(ctx, r.db.names.sql(sqlExecution), uuid(req.Key), req.Execution).Scan(&res.Status, &res.Length)
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("instance %s, execution %d: %w", req.Key, req.Execution, provider.ErrNotFound)
	}
	return err
}

// reading is the state of one read of events.
type reading struct {
	req  *provider.ReadHistoryRequest
	res  *provider.ReadHistoryResult
	next int64
	to   int64
	size int
	full bool
}

// events reads the events From..to that fit, some commits at a time.
func (r *reader) events(ctx context.Context, tx pgx.Tx, req *provider.ReadHistoryRequest, to int64, res *provider.ReadHistoryResult) error {
	read := &reading{req: req, res: res, next: req.From, to: to}
	for read.next <= read.to && !read.full {
		before := read.next
		rows, err := tx.Query(ctx, r.db.names.sql(sqlEvents), uuid(req.Key), res.Execution, read.next, historyPage)
		if err != nil {
			return err
		}
		for rows.Next() && read.next <= read.to && !read.full {
			var first, events int64
			var data []byte
			if err = rows.Scan(&first, &events, &data); err == nil {
				err = read.unpack(first, events, data)
			}
			if err != nil {
				break
			}
		}
		rows.Close()
		if err := errors.Join(err, rows.Err()); err != nil {
			return err
		}
		if read.next == before && !read.full {
			return fmt.Errorf("%w: instance %s, execution %d: events %d to %d are missing", errHistory, req.Key, res.Execution, read.next, read.to)
		}
	}
	res.More = read.full
	return nil
}

// unpack adds the events of one commit.
func (r *reading) unpack(id, events int64, data []byte) error {
	if id > r.next {
		return fmt.Errorf("%w: instance %s, execution %d: events %d to %d are missing", errHistory, r.req.Key, r.res.Execution, r.next, id-1)
	}
	for last := id + events - 1; id <= last && id <= r.to; id++ {
		event, rest, err := relational.NextEvent(data)
		if err != nil {
			return fmt.Errorf("%w: instance %s, execution %d: event %d: %w", errHistory, r.req.Key, r.res.Execution, id, err)
		}
		data = rest
		if id < r.next {
			continue
		}
		if len(r.res.Events) > 0 && r.size+len(event) > r.req.MaxBytes {
			r.full = true
			return nil
		}
		r.size += len(event)
		r.res.Events = append(r.res.Events, provider.Event{ID: id, Data: event})
		r.next = id + 1
	}
	return nil
}
