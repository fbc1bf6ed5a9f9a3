package relational

import (
	"context"
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

const (
	recordColumns = `key, value, version, updated_at`
	sqlRecord     = `SELECT ` + recordColumns + `, ` + sqlNow + ` FROM perdure.record WHERE namespace = $1 AND key = $2`
	sqlNewRecord  = `INSERT INTO perdure.record (namespace, key, version, updated_at, value) VALUES ($1, $2, 1, ` + sqlNow + `, $3)
	ON CONFLICT DO NOTHING RETURNING ` + recordColumns + `, updated_at`
	sqlPutRecord = `UPDATE perdure.record SET version = version + 1, updated_at = ` + sqlNow + `, value = $3
	WHERE namespace = $1 AND key = $2 AND version = $4 RETURNING ` + recordColumns + `, updated_at`
	sqlDropRecord = `DELETE FROM perdure.record WHERE namespace = $1 AND key = $2 AND version = $3
	RETURNING ` + recordColumns + `, ` + sqlNow
	sqlScanRecords = `SELECT ` + recordColumns + `, ` + sqlNow + ` FROM perdure.record
	WHERE namespace = $1 AND key >= $2 AND key > $3{ AND starts_with(key, $2)|} ORDER BY key LIMIT $4`
	sqlOnlyNow = `SELECT ` + sqlNow
)

// Record implements [provider.Keeper].
func (qs Queries) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	if err := req.Validate(); err != nil {
		return provider.RecordResult{}, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	if req.Action == provider.RecordGet || req.Action == provider.RecordScan {
		res, err := read(ctx, qs.storage, Reading{Op: "record"}, func(q Queryer, res *provider.RecordResult) error {
			return readRecords(q, &req, res)
		})
		qs.storage.ObserveTime(res.Now)
		return res, err
	}
	req.Value = append([]byte{}, req.Value...)
	res, err := change(ctx, qs.storage, "record", len(req.Value), func(q Queryer, res *provider.RecordResult) error {
		return changeRecord(q, &req, res)
	})
	qs.storage.ObserveTime(res.Now)
	return res, err
}

// scanRecord adds a record and the time of its statement to a result.
func scanRecord(r Row, res *provider.RecordResult) {
	res.Records = append(res.Records, provider.Record{Key: r.Text(0), Value: r.Blob(1), Version: r.Int(2), UpdatedAt: timeIn(r, 3)})
	res.Now = timeIn(r, 4)
}

// now reads the time if no row brought it.
func now(q Queryer, into *provider.Time) error {
	if *into != 0 {
		return nil
	}
	return q.Query(Query{SQL: sqlOnlyNow, Each: func(r Row) error {
		*into = timeIn(r, 0)
		return nil
	}})
}

func readRecords(q Queryer, req *provider.RecordRequest, res *provider.RecordResult) error {
	sql, args := sqlRecord, []any{req.Namespace, req.Key}
	if req.Action == provider.RecordScan {
		sql, args = sqlScanRecords, []any{req.Namespace, req.Prefix, req.Key, req.Max}
	}
	err := q.Query(Query{SQL: sql, Args: args, Each: func(r Row) error {
		if req.Action == provider.RecordScan && !strings.HasPrefix(r.Text(0), req.Prefix) {
			return ErrStop // keys are in order: no other one has the prefix
		}
		scanRecord(r, res)
		return nil
	}})
	if err == nil && req.Action == provider.RecordGet && len(res.Records) == 0 {
		err = fmt.Errorf("record %q of %q: %w", req.Key, req.Namespace, provider.ErrNotFound)
	}
	if err != nil {
		return err
	}
	return now(q, &res.Now)
}

// changeRecord changes one record if its version is the expected one.
func changeRecord(q Queryer, req *provider.RecordRequest, res *provider.RecordResult) error {
	sql, args := sqlPutRecord, []any{req.Namespace, req.Key, req.Value, req.Expect}
	switch {
	case req.Action == provider.RecordDelete:
		sql, args = sqlDropRecord, []any{req.Namespace, req.Key, req.Expect}
	case req.Expect == 0:
		sql, args = sqlNewRecord, args[:3]
	}
	err := q.Query(Query{SQL: sql, Args: args, Writes: true, Each: func(r Row) error {
		scanRecord(r, res)
		return nil
	}})
	if err != nil || len(res.Records) > 0 {
		return err
	}
	var found provider.RecordResult
	err = q.Query(Query{SQL: sqlRecord, Args: []any{req.Namespace, req.Key}, Each: func(r Row) error {
		scanRecord(r, &found)
		return nil
	}})
	if err != nil {
		return err
	}
	version := int64(0)
	for _, record := range found.Records {
		version = record.Version
	}
	if version == req.Expect { // a delete of what does not exist
		return now(q, &res.Now)
	}
	return fmt.Errorf("record %q of %q has version %d, not %d: %w", req.Key, req.Namespace, version, req.Expect, provider.ErrConflict)
}

const (
	sqlAcquireLease = `INSERT INTO perdure.lease AS l (name, owner, token, until) VALUES ($1, $2, $3, ` + sqlElapsed + ` + CAST($4 AS bigint))
	ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = excluded.token, until = excluded.until
	WHERE l.token = excluded.token OR l.until <= excluded.until - CAST($4 AS bigint) RETURNING owner, until, until - CAST($4 AS bigint)`
	sqlReleaseLease = `DELETE FROM perdure.lease WHERE name = $1 AND token = $2 RETURNING '', 0, ` + sqlElapsed
	sqlLeaseHolder  = `SELECT owner, until, ` + sqlElapsed + ` FROM perdure.lease WHERE name = $1 AND until > ` + sqlElapsed
)

// Lease implements [provider.Keeper]. It returns ErrLeaseLost with the holder for a release by a token that does not
// hold the lease.
func (qs Queries) Lease(ctx context.Context, req provider.LeaseRequest) (provider.LeaseResult, error) {
	if err := req.Validate(); err != nil {
		return provider.LeaseResult{}, err
	}
	type outcome struct {
		provider.LeaseResult

		held bool
	}
	out, err := change(ctx, qs.storage, "lease", 0, func(q Queryer, out *outcome) error {
		scan := func(r Row) error {
			out.Owner, out.Until, out.Now = r.Text(0), qs.wall(r.Int(1)), qs.wall(r.Int(2))
			return nil
		}
		sql, args := sqlAcquireLease, []any{req.Name, req.Owner, req.Token, req.Duration.Microseconds()}
		if req.Action == provider.LeaseRelease {
			sql, args = sqlReleaseLease, []any{req.Name, req.Token}
		}
		err := q.Query(Query{SQL: sql, Args: args, Each: scan, Writes: true})
		if out.held = out.Now != 0; err != nil || out.held {
			return err
		}
		if err := q.Query(Query{SQL: sqlLeaseHolder, Args: []any{req.Name}, Each: scan}); err != nil {
			return err
		}
		return now(q, &out.Now)
	})
	qs.storage.ObserveTime(out.Now)
	if err == nil && !out.held {
		err = fmt.Errorf("lease %q: %w", req.Name, provider.ErrLeaseLost)
	}
	return out.LeaseResult, err
}

// wall converts an instant of the lease clock to storage time.
func (qs Queries) wall(elapsed int64) provider.Time {
	if elapsed == 0 {
		return 0
	}
	return provider.Time(elapsed + qs.storage.Skew())
}
