package sqlite

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// inspections are the queries of Inspect. The last three columns are the place of a row in the order of its kind. Its table
// is i.
//
//nolint:gochecknoglobals // constant table
var inspections = map[provider.InspectKind]string{
	// The kind is joined from the left: an instance whose kind is missing must show.
	provider.InspectInstances: `SELECT ` + instanceColumns + `, k.id, i.key, 0 AS a, 0 AS b FROM perdure_instance i
		LEFT JOIN perdure_kind k ON k.id = i.kind LEFT JOIN perdure_outcome o ON o.key = i.key WHERE i.key > ?1`,
	provider.InspectExecutions: `SELECT status, length, i.key, execution AS a, 0 AS b FROM perdure_execution i
		WHERE (i.key, execution) > (?1, ?2)`,
	provider.InspectHistory: `SELECT events, i.key, execution AS a, first_id AS b FROM perdure_history i
		WHERE (i.key, execution, first_id) > (?1, ?2, ?3)`,
	provider.InspectMessages: `SELECT kind, timer, execution, event_id, payload, sum, i.key, visible_at AS a, id AS b FROM perdure_inbox i
		WHERE (i.key, visible_at, id) > (?1, ?2, ?3)`,
	provider.InspectTasks: `SELECT state, cancel, owner, lease_until, payload, sum, i.key, execution AS a, event_id AS b FROM perdure_task i
		WHERE (i.key, execution, event_id) > (?1, ?2, ?3)`,
	provider.InspectTurnLeases: `SELECT lease_owner, lease_until, i.key, 0 AS a, 0 AS b FROM perdure_instance i
		WHERE lease_until > 0 AND i.key > ?1`,
	provider.InspectAsks:        `SELECT DISTINCT i.key, 0 AS a, 0 AS b FROM perdure_ask i WHERE i.key > ?1`,
	provider.InspectValues:      `SELECT DISTINCT i.key, 0 AS a, 0 AS b FROM perdure_value i WHERE i.key > ?1`,
	provider.InspectAttributes:  `SELECT DISTINCT i.key, 0 AS a, 0 AS b FROM perdure_attribute i WHERE i.key > ?1`,
	provider.InspectOutcomes:    `SELECT i.key, 0 AS a, 0 AS b FROM perdure_outcome i WHERE i.key > ?1`,
	provider.InspectDeadLetters: `SELECT DISTINCT i.key, 0 AS a, 0 AS b FROM perdure_dead_letter i WHERE i.key > ?1`,
}

// Inspect implements [provider.Inspector].
func (rd *reader) Inspect(ctx context.Context, req provider.InspectRequest) (res provider.InspectResult, err error) {
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
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err = rd.readSnapshot(ctx, "inspect", func(c *conn) error {
		v := page{store: rd.store, kind: req.Kind}
		v.res.Now = rd.store.clock.wall()
		if err := v.read(ctx, c, &req, after); err != nil {
			return fmt.Errorf("perdure rows of kind %d: %w", req.Kind, err)
		}
		res = v.res
		return nil
	})
	return res, err
}

// A page is what one Inspect returns.
type page struct {
	store    *store
	kind     provider.InspectKind
	skew     int64
	rebooted bool            // since the leases were given
	gone     map[string]bool // lease owners that are known dead
	bytes    int
	res      provider.InspectResult
}

// read fills the page with the rows after a place.
func (v *page) read(ctx context.Context, c *conn, req *provider.InspectRequest, after spot) (err error) {
	v.skew = v.store.clock.skew()
	if v.rebooted, err = c.rebooted(ctx, v.store.clock); err != nil {
		return err
	}
	if v.gone, err = v.store.goneOwners(ctx, c); err != nil {
		return err
	}
	sql, args := inspections[req.Kind], []any{after.key, after.a, after.b, req.Max + 1}
	if !req.Key.IsZero() {
		sql, args = sql+` AND i.key = ?5`, append(args, req.Key[:])
	}
	var last spot
	n := 0
	return c.each(ctx, sql+` ORDER BY i.key, a, b LIMIT ?4`, func(r *row) error {
		if n == req.Max || v.bytes >= provider.MaxFetchBytes {
			v.res.Cursor = last.cursor()
			return errStop
		}
		n++
		last = spotOf(r)
		v.take(r)
		return nil
	}, args...)
}

// take adds a row to the page, or its fault.
func (v *page) take(r *row) {
	key := r.uuid(len(r.vals) - 3)
	keep := v.scan(r, key, spotOf(r))
	if r.bad != nil {
		v.res.Faults = append(v.res.Faults, provider.RowFault{Key: key, Reason: r.bad.Error()})
		r.bad = nil
		return
	}
	keep()
}

// scan reads a row and returns a function that adds it to the page.
func (v *page) scan(r *row, key provider.UUID, at spot) (keep func()) {
	res := &v.res
	switch v.kind {
	case provider.InspectInstances:
		var in provider.Instance
		scanInstance(r, &in)
		if kind := len(r.vals) - 4; r.null(kind) {
			r.fault(kind)
		}
		v.bytes += len(in.Result) + len(in.CustomStatus)
		return func() { res.Instances = append(res.Instances, in) }
	case provider.InspectExecutions:
		x := provider.ExecutionRow{Key: key, Execution: at.a, Status: provider.Status(r.int(0)), Length: r.int(1)}
		return func() { res.Executions = append(res.Executions, x) }
	case provider.InspectHistory:
		h := provider.HistoryRow{Key: key, Execution: at.a, First: at.b, Count: r.int(0)}
		return func() { res.History = append(res.History, h) }
	case provider.InspectMessages:
		r.sound(4, 5) // a payload is verified, and left out
		m := provider.MessageRow{Key: key, Message: provider.Message{
			ID: at.b, Kind: provider.MessageKind(r.int(0)), Timer: r.bool(1), Execution: r.int(2), EventID: r.int(3),
			VisibleAt: provider.Time(at.a),
		}}
		return func() { res.Messages = append(res.Messages, m) }
	case provider.InspectTasks:
		r.sound(4, 5)
		t := provider.TaskRow{
			TaskRef: provider.TaskRef{Key: key, Execution: at.a, EventID: at.b},
			State:   provider.TaskState(r.int(0)), CancelRequested: r.bool(1),
		}
		if t.State == provider.TaskLeased {
			t.Lease = v.lease(r.text(2), r.int(3))
		}
		return func() { res.Tasks = append(res.Tasks, t) }
	case provider.InspectTurnLeases:
		l := provider.TurnLeaseRow{Key: key, Lease: v.lease(r.text(0), r.int(1))}
		return func() { res.TurnLeases = append(res.TurnLeases, l) }
	default:
		return func() { res.Keys = append(res.Keys, key) }
	}
}

func (v *page) lease(owner string, until int64) provider.LeaseRow {
	return provider.LeaseRow{
		Owner: owner, Until: provider.Time(until + v.skew),
		Over:      v.rebooted || until <= int64(v.res.Now)-v.skew,
		OwnerGone: v.rebooted || v.gone[owner],
	}
}

// rebooted reports whether the machine was booted after leases were given by its elapsed clock.
func (c *conn) rebooted(ctx context.Context, clock *clock) (bool, error) {
	boot, stored := clock.boot(), ""
	_, err := c.one(ctx, sqlBoot, func(r *row) { stored = r.text(0) })
	return boot != stored && boot != "", err
}

// spot is the place of a row in the order of its kind. The key is as stored, whatever its length.
type spot struct {
	key  []byte
	a, b int64
}

func spotOf(r *row) spot {
	n := len(r.vals)
	key, _ := r.vals[n-3].([]byte)
	return spot{append([]byte{}, key...), r.int(n - 2), r.int(n - 1)}
}

func (s spot) cursor() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(s.a))
	b = binary.BigEndian.AppendUint64(b, uint64(s.b))
	return base64.RawURLEncoding.EncodeToString(append(b, s.key...))
}

// readSpot reads a cursor. The empty one is before all rows.
func readSpot(cursor string) (s spot, err error) {
	if cursor == "" {
		return spot{key: []byte{}}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) < 16 {
		return s, fmt.Errorf("inspect: Cursor: %w: %q was not made by Inspect", provider.ErrInvalid, cursor)
	}
	return spot{b[16:], int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))}, nil
}
