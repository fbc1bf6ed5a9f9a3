package relational

import (
	"bytes"
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

const (
	sqlMoveIn = `INSERT INTO perdure.instance (key, id, current, kind, status, deleting, execution, version, history_length, history_bytes,
	parent_key, parent_id, parent_execution, parent_event, parent_close, blocked, blocked_count, blocked_reason, blocked_message, blocked_since,
	retry_at, request_id, created_at, updated_at, ready_at, inbox_messages, next_message, deliveries, not_before_at)
	VALUES ($1, $2, $3, $4, $5, {true|1}, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, {$18::bytea|CAST($18 AS TEXT)}, $19, $20, $21,
	$22, $23, $24, $25, $26, $27, $28) RETURNING 1`
	sqlInboxSize = `UPDATE perdure.instance SET inbox_bytes =
	(SELECT coalesce(sum(length(payload)), 0) FROM perdure.inbox WHERE key = $1) WHERE key = $1 RETURNING 1`
	sqlScheduled      = `UPDATE perdure.task SET scheduled_at = $4 WHERE key = $1 AND execution = $2 AND event_id = $3 RETURNING 1`
	sqlMoveDeadLetter = `INSERT INTO perdure.dead_letter (task, key, instance_id, execution, event_id, kind, timer, queue, name, priority, reason,
	at, payload, fairness_key, session, limit_key) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) RETURNING 1`
)

// Import implements [provider.Mover].
func (c Calls) Import(ctx context.Context, req provider.ImportRequest) (provider.ImportResult, error) {
	m := &Member{Op: "import", Bytes: req.Parcel.Bytes(), Needs: Needs{Keys: []provider.UUID{req.Key}}}
	if head := req.Parcel.Head; head != nil {
		m.Needs.IDs = []string{head.Instance.ID}
	}
	return call(ctx, c, req.Validate(), m, func(t *Tx, res *provider.ImportResult) error { return t.Import(&req, res) })
}

// Import stores a page of an instance that comes from another store.
func (t *Tx) Import(req *provider.ImportRequest, res *provider.ImportResult) error {
	if req.At > t.Now {
		return fmt.Errorf("import: the store's time is %d us before that of the export: %w", req.At-t.Now, provider.ErrClockBehind)
	}
	s, err := t.seal(req.Key)
	if err != nil {
		return err
	}
	a := pageImport{t, req, &s}
	known := s.Arrived && s.Transfer == req.Transfer
	res.Now = t.Now
	switch {
	case known && s.State != provider.SealArriving:
		res.Done = true
	case known && req.Number > 0 && int64(req.Number) < s.pages: // a repeat
	case req.Number == 0:
		err = a.begin()
	case !known || int64(req.Number) != s.pages:
		err = fmt.Errorf("import: instance %s: page %d comes after page %d: %w", req.Key, req.Number, s.pages-1, provider.ErrConflict)
	default:
		err = a.store()
	}
	res.Seal = s.Seal
	res.Done = res.Done || err == nil && req.Last
	return err
}

// pageImport is the import of one page.
type pageImport struct {
	t   *Tx
	req *provider.ImportRequest
	s   *seal
}

// begin creates the instance and stores the first page.
func (a pageImport) begin() error {
	t, in := a.t, &a.req.Parcel.Head.Instance
	old, sameKey, err := t.Rows.Rivals(in.ID, in.Key)
	if err != nil {
		return err
	}
	comes := a.s.State == provider.SealArriving || a.s.State == provider.SealClosed && !a.s.Arrived && a.req.Replace
	switch {
	case sameKey != nil && !comes:
		return sameKey.exists()
	case old != nil && old.Key != in.Key && !a.req.Parcel.Head.Replaced:
		return old.exists()
	case sameKey != nil:
		if err := a.clear(); err != nil {
			return err
		}
	}
	*a.s = seal{
		Seal:  provider.Seal{Key: in.Key, ID: in.ID, Transfer: a.req.Transfer, State: provider.SealArriving, Arrived: true, Status: in.Status},
		ended: in.EndedAt,
	}
	if err := a.insert(); err != nil {
		return err
	}
	return a.store()
}

// clear removes what is stored under the key.
func (a pageImport) clear() error {
	if err := a.t.reread(a.req.Key); err != nil {
		return err
	}
	a.t.Touch(a.req.Key)
	queries := make([]Query, 0, len(keyed))
	for _, table := range keyed {
		queries = append(queries, Query{
			SQL: `DELETE FROM perdure.` + table + ` WHERE key = $1`, Args: []any{a.req.Key}, Writes: true, Each: func(Row) error { return nil },
		})
	}
	return a.t.Rows.Query(queries...)
}

// keyed are the tables with rows of an instance.
//
//nolint:gochecknoglobals // constant table
var keyed = []string{
	"outcome", "execution", "history", "inbox", "task", "attribute", "value", "dead_letter", "request", "listener", "ask", "instance",
}

// insert stores the row of the instance and what describes it.
func (a pageImport) insert() error {
	t, head := a.t, a.req.Parcel.Head
	in := &head.Instance
	kind, err := turnNumber(t.Rows, TurnKind{provider.Capability{Name: in.Name, CodeVersion: in.CodeVersion}, in.EngineLevel})
	if err != nil {
		return err
	}
	blocked := in.Blocked
	if blocked == nil {
		blocked = &provider.Blocked{}
	}
	var parent any
	if !in.Parent.Key.IsZero() {
		parent = in.Parent.Key
	}
	err = t.Rows.Query(Query{SQL: sqlMoveIn, Writes: true, Each: func(Row) error { return nil }, Args: []any{
		in.Key, in.ID, !head.Replaced, kind, int64(provider.StatusSuspended), in.Execution, in.Version, in.HistoryLength, in.HistoryBytes,
		parent, in.Parent.ID, in.Parent.Execution, in.Parent.EventID, int64(in.Parent.Close),
		in.Blocked != nil, blocked.Count, blocked.Reason, []byte(blocked.Message), int64(blocked.Since), int64(blocked.RetryAt), in.RequestID,
		int64(in.CreatedAt), int64(in.UpdatedAt), int64(in.ReadyAt), in.InboxMessages, head.NextMessage, in.Deliveries, int64(head.NotBefore),
	}})
	if err != nil {
		return err
	}
	return a.describe()
}

func (a pageImport) describe() error {
	rows, head := a.t.Rows, a.req.Parcel.Head
	key, in := a.req.Key, &head.Instance
	if len(in.CustomStatus) > 0 {
		if err := rows.SetCustomStatus(key, in.CustomStatus); err != nil {
			return err
		}
	}
	if failure := failureOf(in.Excerpt, in.FailureGroup, in.EndedAt); in.Result != nil || failure != nil {
		if err := rows.SetResult(key, in.Result, failure); err != nil {
			return err
		}
	}
	if len(head.Acts) > 0 {
		if err := rows.SetActs(key, bytes.Join(head.Acts, nil)); err != nil {
			return err
		}
	}
	if len(in.Attributes) > 0 {
		if err := rows.SetAttributes(key, in.Attributes); err != nil {
			return err
		}
	}
	if head.Listener != nil {
		if err := rows.SetListener(key, head.Listener); err != nil {
			return err
		}
	}
	for _, x := range head.Executions {
		if err := rows.AddExecution(key, x.Execution, x.Status, x.Length, x.EndedAt); err != nil {
			return err
		}
	}
	return rows.SetRequests(key, head.Requests)
}
