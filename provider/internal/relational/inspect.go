package relational

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// inspection is how the rows of a kind are read: after the first argument, which is a number, come as many columns of their
// place. The last three columns are the place of a row in the order of its kind. The table that the rows come from is i.
type inspection struct {
	sql    string
	places int
}

//nolint:gochecknoglobals // constant table
var inspections = map[provider.InspectKind]inspection{
	// The kind is joined from the left: an instance whose kind is missing must show.
	provider.InspectInstances: {`SELECT ` + instanceAnd + `k.id, i.key, 0 AS a, 0 AS b FROM perdure.instance i
	LEFT JOIN perdure.kind k ON k.id = i.kind` + outcomeOf + ` WHERE i.key > $2`, 1},
	provider.InspectExecutions: {`SELECT i.status, i.length, i.key, i.execution AS a, 0 AS b FROM perdure.execution i
	WHERE (i.key, i.execution) > ($2, $3)`, 2},
	provider.InspectHistory: {`SELECT i.events, i.key, i.execution AS a, i.first_id AS b FROM perdure.history i
	WHERE (i.key, i.execution, i.first_id) > ($2, $3, $4)`, 3},
	provider.InspectMessages: {`SELECT i.kind, i.timer, i.execution, i.event_id, {NULL, NULL|i.payload, i.sum}, i.key, i.visible_at AS a, i.id AS b
	FROM perdure.inbox i WHERE (i.key, i.visible_at, i.id) > ($2, $3, $4)`, 3},
	provider.InspectTasks: {`SELECT i.state, i.cancel, i.owner, i.lease_until, {NULL, NULL|i.payload, i.sum}, i.key, i.execution AS a, i.event_id AS b
	FROM perdure.task i WHERE (i.key, i.execution, i.event_id) > ($2, $3, $4)`, 3},
	provider.InspectTurnLeases: {`SELECT i.lease_owner, i.lease_until, i.key, 0 AS a, 0 AS b FROM perdure.instance i
	WHERE i.{lease_token IS NOT NULL|lease_until > 0} AND i.key > $2`, 1},
	provider.InspectAsks:        keysOf("ask"),
	provider.InspectValues:      keysOf("value"),
	provider.InspectAttributes:  keysOf("attribute"),
	provider.InspectOutcomes:    keysOf("outcome"),
	provider.InspectDeadLetters: keysOf("dead_letter"),
}

func keysOf(table string) inspection {
	return inspection{`SELECT DISTINCT i.key, 0 AS a, 0 AS b FROM perdure.` + table + ` i WHERE i.key > $2`, 1}
}

// RawKey is a key as stored, which may be of any length. The empty key is before all others.
type RawKey []byte

// rowPlace is the place of a row in the order of its kind.
type rowPlace struct {
	key  RawKey
	a, b int64
}

func (s rowPlace) cursor() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(s.a))
	b = binary.BigEndian.AppendUint64(b, uint64(s.b))
	return base64.RawURLEncoding.EncodeToString(append(b, s.key...))
}

// readRowPlace parses a cursor. The empty one is before all rows.
func readRowPlace(cursor string) (s rowPlace, err error) {
	if cursor == "" {
		return s, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) < 16 {
		return s, fmt.Errorf("inspect: Cursor: %w: %q was not made by Inspect", provider.ErrInvalid, cursor)
	}
	return rowPlace{b[16:], int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))}, nil
}

// Inspect implements [provider.Inspector].
func (qs Queries) Inspect(ctx context.Context, req provider.InspectRequest) (provider.InspectResult, error) {
	if err := req.Validate(); err != nil {
		return provider.InspectResult{}, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	after, err := readRowPlace(req.Cursor)
	if err != nil {
		return provider.InspectResult{}, err
	}
	how := Reading{Op: "inspect", Snapshot: true, Long: true}
	res, err := read(ctx, qs.storage, how, func(q Queryer, res *provider.InspectResult) error {
		v := page{kind: req.Kind, most: req.Max, res: res}
		if err := v.read(q, qs.storage, &req, after); err != nil {
			return fmt.Errorf("rows of kind %d: %w", req.Kind, err)
		}
		return nil
	})
	qs.storage.ObserveTime(res.Now)
	return res, err
}

// A page is what one Inspect returns.
type page struct {
	kind  provider.InspectKind
	most  int
	lease func(owner string, until int64) provider.LeaseRow
	res   *provider.InspectResult

	key   provider.UUID // of the row
	at    rowPlace
	rows  int
	bytes int
}

// read fills the page with the rows after a place.
func (v *page) read(q Queryer, s Storage, req *provider.InspectRequest, after rowPlace) error {
	err := q.Query(Query{SQL: `SELECT ` + sqlNow, Each: func(r Row) error {
		v.res.Now = timeIn(r, 0)
		return nil
	}})
	if err != nil {
		return err
	}
	if v.lease, err = s.Leases(q, v.res.Now); err != nil {
		return err
	}
	how := inspections[req.Kind]
	sql, args := how.sql, []any{req.Max + 1, after.key, after.a, after.b}[:1+how.places]
	if !req.Key.IsZero() {
		args = append(args, req.Key)
		sql += fmt.Sprintf(" AND i.key = $%d", len(args))
	}
	return q.Query(Query{SQL: sql + ` ORDER BY i.key, a, b LIMIT $1`, Args: args, Each: v.take})
}

// placeOf is the first column of the place.
//
//nolint:gochecknoglobals // constant table
var placeOf = map[provider.InspectKind]int{
	provider.InspectInstances: moreColumns + 1, provider.InspectExecutions: 2, provider.InspectHistory: 1,
	provider.InspectMessages: 6, provider.InspectTasks: 6, provider.InspectTurnLeases: 2,
}

// take adds a row to the page, or its fault.
func (v *page) take(r Row) error {
	if v.rows == v.most || v.bytes >= provider.MaxFetchBytes {
		v.res.Cursor = v.at.cursor()
		return ErrStop
	}
	v.rows++
	place := placeOf[v.kind]
	v.at = rowPlace{append(RawKey{}, r.Blob(place)...), r.Int(place + 1), r.Int(place + 2)}
	v.key = r.UUID(place)
	keep := v.scan(r)
	if fault := r.Fault(); fault == nil {
		keep()
	} else {
		v.res.Faults = append(v.res.Faults, provider.RowFault{Key: v.key, Reason: fault.Error()})
	}
	return nil
}

// scan reads a row and returns a function that adds it to the page.
func (v *page) scan(r Row) (keep func()) {
	res, key, a, b := v.res, v.key, v.at.a, v.at.b
	switch v.kind {
	case provider.InspectInstances:
		var in provider.Instance
		ScanInstance(r, &in)
		r.NotNull(moreColumns)
		v.bytes += len(in.Result) + len(in.CustomStatus) + len(in.Excerpt)
		return func() { res.Instances = append(res.Instances, in) }
	case provider.InspectExecutions:
		x := provider.ExecutionRow{Key: key, Execution: a, Status: provider.Status(r.Int(0)), Length: r.Int(1)}
		return func() { res.Executions = append(res.Executions, x) }
	case provider.InspectHistory:
		h := provider.HistoryRow{Key: key, Execution: a, First: b, Count: r.Int(0)}
		return func() { res.History = append(res.History, h) }
	case provider.InspectMessages:
		r.VerifiedBlob(4) // a payload is verified, and left out
		m := provider.MessageRow{Key: key, Message: provider.Message{
			ID: b, Kind: provider.MessageKind(r.Int(0)), Timer: r.Bool(1), Execution: r.Int(2), EventID: r.Int(3), VisibleAt: provider.Time(a),
		}}
		return func() { res.Messages = append(res.Messages, m) }
	case provider.InspectTasks:
		r.VerifiedBlob(4)
		t := provider.TaskRow{
			TaskRef: provider.TaskRef{Key: key, Execution: a, EventID: b},
			State:   provider.TaskState(r.Int(0)), CancelRequested: r.Bool(1),
		}
		if t.State == provider.TaskLeased {
			t.Lease = v.lease(r.Text(2), r.Int(3))
		}
		return func() { res.Tasks = append(res.Tasks, t) }
	case provider.InspectTurnLeases:
		l := provider.TurnLeaseRow{Key: key, Lease: v.lease(r.Text(0), r.Int(1))}
		return func() { res.TurnLeases = append(res.TurnLeases, l) }
	default:
		return func() { res.Keys = append(res.Keys, key) }
	}
}
