package relational

import (
	"context"
	"fmt"
	"math"

	"github.com/perdure/perdure/provider"
)

const (
	// The columns say which execution is the current one and how long ago this one ended, negative if that is unknown.
	sqlOver = `SELECT e.key, e.execution, i.execution, CASE WHEN e.ended_at > 0 THEN ` + sqlNow + ` - e.ended_at ELSE -1 END
	FROM perdure.execution e JOIN perdure.instance i ON i.key = e.key AND {NOT i.deleting|i.deleting = 0}
	WHERE e.key >= $1 AND (e.key > $1 OR e.execution > $2) ORDER BY e.key, e.execution LIMIT $3`
	// An older release does not note the end.
	sqlEndedNow = `UPDATE perdure.execution SET ended_at = ` + sqlNow + ` WHERE key = $1 AND execution = $2 AND ended_at = 0
	RETURNING execution`
	sqlDropHistory   = `DELETE FROM perdure.history WHERE key = $1 AND execution = $2`
	sqlDropExecution = `DELETE FROM perdure.execution WHERE key = $1 AND execution = $2 RETURNING execution`
)

// A trim is one call of Trim.
type trim struct {
	req  *provider.TrimRequest
	key  provider.UUID // of the last execution that was scanned
	last int64         // its number
}

// over is an execution that is not the current one of its instance.
type over struct {
	key       provider.UUID
	execution int64
	current   int64
	age       int64 // microseconds; negative: unknown
}

// Trim implements [provider.Trimmer]. It removes each execution in a transaction of its own.
func (qs Queries) Trim(ctx context.Context, req provider.TrimRequest) (res provider.TrimResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxBatch
	}
	if req.Keep == 0 {
		req.Keep = 1
	}
	t := trim{req: &req}
	if req.Cursor != "" {
		at, key, err := ReadCursor(req.Cursor)
		if err != nil {
			return res, fmt.Errorf("trim: Cursor: %w: %q was not made by Trim", provider.ErrInvalid, req.Cursor)
		}
		t.key, t.last = key, int64(at)
	}
	list, err := t.next(ctx, qs.storage)
	if err != nil {
		return res, err
	}
	for n := range list {
		if res.Executions == int64(req.Max) {
			res.Cursor = t.cursor()
			return res, nil
		}
		gone, err := t.one(ctx, qs.storage, &list[n])
		if err != nil {
			return res, err
		}
		if res.Executions += gone; gone > 0 && req.Look {
			res.Found = append(res.Found, provider.OldExecution{Key: list[n].key, Execution: list[n].execution})
		}
	}
	if len(list) == scanRows {
		res.Cursor = t.cursor()
	}
	return res, nil
}

// cursor continues after the last execution that was scanned.
func (t *trim) cursor() string { return WriteCursor(provider.Time(t.last), t.key) }

// next returns the next executions.
func (t *trim) next(ctx context.Context, s Storage) (list []over, err error) {
	return read(ctx, s, Reading{Op: "trim", Long: true}, func(q Queryer, list *[]over) error {
		*list = nil
		return q.Query(Query{SQL: sqlOver, Args: []any{RawKey(t.key[:]), t.last, scanRows}, Each: func(r Row) error {
			*list = append(*list, over{r.UUID(0), r.Int(1), r.Int(2), r.Int(3)})
			return nil
		}})
	})
}

// one removes an execution if it may go, and returns how many it has removed. All later ones of its instance stay if it stays.
func (t *trim) one(ctx context.Context, s Storage, o *over) (gone int64, err error) {
	if o.key == t.key && o.execution <= t.last {
		return 0, nil
	}
	t.key, t.last = o.key, math.MaxInt64
	if o.execution >= o.current-int64(t.req.Keep) || o.age >= 0 && o.age < t.req.Age.Microseconds() {
		return 0, nil
	}
	if t.req.Look {
		if o.age < 0 && t.req.Age > 0 {
			return 0, nil // a trim notes its end
		}
		t.last = o.execution
		return 1, nil
	}
	if o.age < 0 && t.req.Age > 0 {
		_, err := change(ctx, s, "trim", 0, func(q Queryer, _ *struct{}) error {
			return q.Query(Query{SQL: sqlEndedNow, Args: []any{o.key, o.execution}, Writes: true, Each: noRow})
		})
		return 0, err
	}
	t.last = o.execution
	_, err = change(ctx, s, "trim", 0, func(q Queryer, _ *struct{}) error {
		gone = 0
		return q.Query(
			Query{SQL: sqlDropHistory, Args: []any{o.key, o.execution}, Each: noRow},
			Query{SQL: sqlDropExecution, Args: []any{o.key, o.execution}, Writes: true, Each: func(Row) error {
				gone++
				return nil
			}})
	})
	return gone, err
}

// noRow is for statements whose rows do not matter.
func noRow(Row) error { return nil }
