package relational

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

const (
	sqlHistoryHead = `SELECT execution, status, history_length, version FROM perdure.instance WHERE key = $1`
	sqlExecution   = `SELECT status, length FROM perdure.execution WHERE key = $1 AND execution = $2`
	sqlEvents      = `SELECT first_id, events, data{|, sum} FROM perdure.history WHERE key = $1 AND execution = $2 AND first_id >=
	coalesce((SELECT max(first_id) FROM perdure.history WHERE key = $1 AND execution = $2 AND first_id <= $3), 0)
	ORDER BY first_id LIMIT $4`
)

// historyPage is how many commits one statement reads.
const historyPage = 500

// ReadHistory implements [provider.Provider].
func (qs Queries) ReadHistory(ctx context.Context, req provider.ReadHistoryRequest) (provider.ReadHistoryResult, error) {
	if err := req.Validate(); err != nil {
		return provider.ReadHistoryResult{}, err
	}
	if req.MaxBytes == 0 {
		req.MaxBytes = provider.MaxFetchBytes
	}
	how := Reading{Op: "read history", Snapshot: true}
	return read(ctx, qs.storage, how, func(q Queryer, res *provider.ReadHistoryResult) error {
		h := history{req: &req, res: res, next: req.From}
		if err := h.head(q); err != nil {
			return err
		}
		h.to = res.Length
		if req.To > 0 {
			h.to = min(h.to, req.To)
		}
		return h.events(q)
	})
}

// history is the state of one read of events.
type history struct {
	req  *provider.ReadHistoryRequest
	res  *provider.ReadHistoryResult
	next int64
	to   int64
	size int
}

// head finds the execution that the request names.
func (h *history) head(q Queryer) error {
	found := false
	err := q.Query(Query{SQL: sqlHistoryHead, Args: []any{h.req.Key}, Each: func(r Row) error {
		found = true
		h.res.Execution, h.res.Status, h.res.Length, h.res.Version = r.Int(0), provider.Status(r.Int(1)), r.Int(2), r.UUID(3)
		return nil
	}})
	if err == nil && found && h.req.Execution != 0 && h.req.Execution != h.res.Execution {
		found, h.res.Execution = false, h.req.Execution
		err = q.Query(Query{SQL: sqlExecution, Args: []any{h.req.Key, h.req.Execution}, Each: func(r Row) error {
			found = true
			h.res.Status, h.res.Length = provider.Status(r.Int(0)), r.Int(1)
			return nil
		}})
	}
	if err == nil && !found {
		err = fmt.Errorf("instance %s, execution %d: %w", h.req.Key, h.req.Execution, provider.ErrNotFound)
	}
	return err
}

// events reads the events that fit, some commits at a time.
func (h *history) events(q Queryer) error {
	for h.next <= h.to && !h.res.More {
		before := h.next
		err := q.Query(Query{SQL: sqlEvents, Args: []any{h.req.Key, h.res.Execution, h.next, historyPage}, Each: h.unpack})
		if err != nil {
			return err
		}
		if h.next == before && !h.res.More {
			return h.broken(h.next, h.to, fmt.Errorf("%w: they are missing", ErrRow))
		}
	}
	return nil
}

// unpack adds the events of one commit.
func (h *history) unpack(r Row) error {
	id, last := r.Int(0), r.Int(0)+r.Int(1)-1
	data := r.VerifiedBlob(2)
	if err := r.Fault(); err != nil {
		return h.broken(id, last, err)
	}
	if id > h.next {
		return h.broken(h.next, id-1, fmt.Errorf("%w: they are missing", ErrRow))
	}
	for ; id <= last && id <= h.to; id++ {
		event, rest, err := NextEvent(data)
		if err != nil {
			return h.broken(id, last, fmt.Errorf("%w: %w", ErrRow, err))
		}
		data = rest
		if id < h.next {
			continue
		}
		if h.res.More = len(h.res.Events) > 0 && h.size+len(event) > h.req.MaxBytes; h.res.More {
			return ErrStop
		}
		h.size += len(event)
		h.res.Events = append(h.res.Events, provider.Event{ID: id, Data: event})
		h.next = id + 1
	}
	if h.next > h.to {
		return ErrStop
	}
	return nil
}

// broken says which events cannot be read.
func (h *history) broken(first, last int64, err error) error {
	return fmt.Errorf("history: instance %s, execution %d: events %d to %d: %w", h.req.Key, h.res.Execution, first, last, err)
}
