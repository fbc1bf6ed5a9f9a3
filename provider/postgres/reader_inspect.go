package postgres

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
)

// inspections are the queries of Inspect. The last three columns are the place of a row in the order of its kind. The
// table that the rows come from is i.
//
//nolint:gochecknoglobals // constant table
var inspections = map[provider.InspectKind]string{
	provider.InspectInstances: `SELECT ` + instanceColumns + `, i.key, 0::bigint AS a, 0::bigint AS b` + instanceTables + ` WHERE i.key > $1`,
	provider.InspectExecutions: `SELECT i.status, i.length, i.key, i.execution AS a, 0::bigint AS b FROM perdure.execution i
	WHERE (i.key, i.execution) > ($1, $2)`,
	provider.InspectHistory: `SELECT i.events, i.key, i.execution AS a, i.first_id AS b FROM perdure.history i
	WHERE (i.key, i.execution, i.first_id) > ($1, $2, $3)`,
	provider.InspectMessages: `SELECT i.kind, i.timer, i.execution, i.event_id, i.key, i.visible_at AS a, i.id AS b FROM perdure.inbox i
	WHERE (i.key, i.visible_at, i.id) > ($1, $2, $3)`,
	provider.InspectTasks: `SELECT i.state, i.cancel, i.owner, i.lease_until, i.key, i.execution AS a, i.event_id AS b FROM perdure.task i
	WHERE (i.key, i.execution, i.event_id) > ($1, $2, $3)`,
	provider.InspectTurnLeases: `SELECT i.lease_owner, i.lease_until, i.key, 0::bigint AS a, 0::bigint AS b FROM perdure.instance i
	WHERE i.lease_token IS NOT NULL AND i.key > $1`,
	provider.InspectAsks:        keysOf("ask"),
	provider.InspectValues:      keysOf("value"),
	provider.InspectAttributes:  keysOf("attribute"),
	provider.InspectOutcomes:    keysOf("outcome"),
	provider.InspectDeadLetters: keysOf("dead_letter"),
}

func keysOf(table string) string {
	return `SELECT DISTINCT i.key, 0::bigint AS a, 0::bigint AS b FROM perdure.` + table + ` i WHERE i.key > $1`
}

// places is how many columns of a place a query names.
//
//nolint:gochecknoglobals // constant table
var places = map[provider.InspectKind]int{
	provider.InspectExecutions: 2, provider.InspectHistory: 3, provider.InspectMessages: 3, provider.InspectTasks: 3,
}

// spot is the place of a row in the order of its kind.
type spot struct {
	key  provider.UUID
	a, b int64
}

func (s spot) cursor() string {
	b := binary.BigEndian.AppendUint64(s.key[:], uint64(s.a))
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(b, uint64(s.b)))
}

// readSpot parses a cursor. The empty cursor is before all rows.
func readSpot(cursor string) (s spot, err error) {
	if cursor == "" {
		return s, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) != len(s.key)+16 {
		return s, fmt.Errorf("inspect: Cursor: %w: it was not made by Inspect", provider.ErrInvalid)
	}
	copy(s.key[:], b)
	return spot{s.key, int64(binary.BigEndian.Uint64(b[16:])), int64(binary.BigEndian.Uint64(b[24:]))}, nil
}

// inspect reads one kind of rows. It does not know whether an owner is dead.
func (r *reader) inspect(ctx context.Context, req provider.InspectRequest) (res provider.InspectResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	after, err := readSpot(req.Cursor)
	if err != nil {
		return res, err
	}
	args := []any{uuid(after.key), after.a, after.b}[:max(1, places[req.Kind])]
	if after.key.IsZero() {
		args[0] = [16]byte{} // zero is not NULL here
	}
	sql := inspections[req.Kind]
	if !req.Key.IsZero() {
		args = append(args, uuid(req.Key))
		sql += fmt.Sprintf(" AND i.key = $%d", len(args))
	}
	sql += fmt.Sprintf(" ORDER BY i.key, a, b LIMIT %d", req.Max+1)
	err = r.db.snapshot(ctx, "inspect", func(ctx context.Context, tx pgx.Tx) error {
		res = provider.InspectResult{}
		if err := tx.QueryRow(ctx, `SELECT `+sqlNow).Scan(&res.Now); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, r.db.names.sql(sql), args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		return fillPage(rows, &req, &res)
	})
	return res, err
}

// fillPage adds rows until the page is full.
func fillPage(rows pgx.Rows, req *provider.InspectRequest, res *provider.InspectResult) error {
	var last spot
	for n, bytes := 0, 0; rows.Next(); n++ {
		if n == req.Max || bytes >= provider.MaxFetchBytes {
			res.Cursor = last.cursor()
			break
		}
		size, err := addRow(rows, req.Kind, res, &last)
		if err != nil {
			return err
		}
		bytes += size
	}
	rows.Close()
	return rows.Err()
}

// addRow adds one row and returns the size of its contents in bytes.
func addRow(rows pgx.Rows, kind provider.InspectKind, res *provider.InspectResult, at *spot) (bytes int, err error) {
	place := []any{into(&at.key), &at.a, &at.b}
	scan := func(columns ...any) error { return rows.Scan(append(columns, place...)...) }
	switch kind {
	case provider.InspectInstances:
		var in provider.Instance
		err = scanInstance(rows, &in, place...)
		in.Attributes = nil
		res.Instances = append(res.Instances, in)
		return len(in.Result) + len(in.CustomStatus), err
	case provider.InspectExecutions:
		var x provider.ExecutionRow
		err = scan(&x.Status, &x.Length)
		x.Key, x.Execution = at.key, at.a
		res.Executions = append(res.Executions, x)
	case provider.InspectHistory:
		var h provider.HistoryRow
		err = scan(&h.Count)
		h.Key, h.Execution, h.First = at.key, at.a, at.b
		res.History = append(res.History, h)
	case provider.InspectMessages:
		var m provider.MessageRow
		err = scan(&m.Kind, &m.Timer, &m.Execution, &m.EventID)
		m.Key, m.VisibleAt, m.ID = at.key, provider.Time(at.a), at.b
		res.Messages = append(res.Messages, m)
	case provider.InspectTasks:
		var t provider.TaskRow
		var lease provider.LeaseRow
		err = scan(&t.State, &t.CancelRequested, &lease.Owner, &lease.Until)
		t.TaskRef = provider.TaskRef{Key: at.key, Execution: at.a, EventID: at.b}
		if t.State == provider.TaskLeased {
			lease.Over = lease.Until <= res.Now
			t.Lease = lease
		}
		res.Tasks = append(res.Tasks, t)
	case provider.InspectTurnLeases:
		var l provider.TurnLeaseRow
		err = scan(&l.Lease.Owner, &l.Lease.Until)
		l.Key, l.Lease.Over = at.key, l.Lease.Until <= res.Now
		res.TurnLeases = append(res.TurnLeases, l)
	default:
		err = scan()
		res.Keys = append(res.Keys, at.key)
	}
	return 0, err
}
