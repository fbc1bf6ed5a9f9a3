package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
)

const (
	sqlRecord    = `SELECT key, value, version, updated_at, ` + sqlNow + ` FROM perdure.record WHERE namespace = $1 AND key = $2`
	sqlNewRecord = `INSERT INTO perdure.record (namespace, key, version, updated_at, value) VALUES ($1, $2, 1, ` + sqlNow + `, $3)
	ON CONFLICT DO NOTHING RETURNING key, value, version, updated_at, updated_at`
	sqlPutRecord = `UPDATE perdure.record SET version = version + 1, updated_at = ` + sqlNow + `, value = $3
	WHERE namespace = $1 AND key = $2 AND version = $4 RETURNING key, value, version, updated_at, updated_at`
	sqlDropRecord = `DELETE FROM perdure.record WHERE namespace = $1 AND key = $2 AND version = $3
	RETURNING key, value, version, updated_at, ` + sqlNow
	sqlScanRecords = `SELECT key, value, version, updated_at, ` + sqlNow + ` FROM perdure.record
	WHERE namespace = $1 AND key >= $2 AND key > $3 AND starts_with(key, $2) ORDER BY key LIMIT $4`
)

// records are what a program stores under names: records and leases.
type records struct{ db *database }

// handle carries out a request.
func (r records) handle(ctx context.Context, req provider.RecordRequest) (res provider.RecordResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	err = r.db.autocommit(ctx, "record", func(ctx context.Context, pool *pgxpool.Pool) error {
		res = provider.RecordResult{}
		err := r.carryOut(ctx, pool, &req, &res)
		if res.Now == 0 && err == nil {
			err = pool.QueryRow(ctx, `SELECT `+sqlNow).Scan(&res.Now)
		}
		return err
	})
	if err != nil {
		return provider.RecordResult{}, err
	}
	return res, nil
}

func (r records) carryOut(ctx context.Context, pool *pgxpool.Pool, req *provider.RecordRequest, res *provider.RecordResult) error {
	value := req.Value
	if value == nil {
		value = []byte{}
	}
	switch req.Action {
	case provider.RecordGet:
		err := r.rows(ctx, pool, res, sqlRecord, req.Namespace, req.Key)
		if err == nil && len(res.Records) == 0 {
			err = fmt.Errorf("record %q of %q: %w", req.Key, req.Namespace, provider.ErrNotFound)
		}
		return err
	case provider.RecordScan:
		return r.rows(ctx, pool, res, sqlScanRecords, req.Namespace, req.Prefix, req.Key, req.Max)
	case provider.RecordDelete:
		return r.changed(ctx, pool, req, res, sqlDropRecord, req.Namespace, req.Key, req.Expect)
	default:
		if req.Expect == 0 {
			return r.changed(ctx, pool, req, res, sqlNewRecord, req.Namespace, req.Key, value)
		}
		return r.changed(ctx, pool, req, res, sqlPutRecord, req.Namespace, req.Key, value, req.Expect)
	}
}

// changed runs a statement that changes one row if its version is the expected one.
func (r records) changed(
	ctx context.Context, pool *pgxpool.Pool, req *provider.RecordRequest, res *provider.RecordResult, sql string, args ...any,
) error {
	if err := r.rows(ctx, pool, res, sql, args...); err != nil || len(res.Records) > 0 {
		return err
	}
	var version int64
	var now provider.Time
	err := pool.QueryRow(ctx, r.db.names.sql(`SELECT version, `+sqlNow+` FROM perdure.record WHERE namespace = $1 AND key = $2`),
		req.Namespace, req.Key).Scan(&version, &now)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if version == req.Expect { // a delete of what does not exist
		return nil
	}
	return fmt.Errorf("record %q of %q has version %d, not %d: %w", req.Key, req.Namespace, version, req.Expect, provider.ErrConflict)
}

func (r records) rows(ctx context.Context, pool *pgxpool.Pool, res *provider.RecordResult, sql string, args ...any) error {
	rows, err := pool.Query(ctx, r.db.names.sql(sql), args...)
	if err != nil {
		return err
	}
	res.Records, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (rec provider.Record, err error) {
		return rec, row.Scan(&rec.Key, &rec.Value, &rec.Version, &rec.UpdatedAt, &res.Now)
	})
	return err
}

const (
	sqlAcquireLease = `INSERT INTO perdure.lease AS l (name, owner, token, until)
	SELECT $1, $2, $3, ` + sqlNow + ` + $4::bigint
	ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = excluded.token, until = excluded.until
	WHERE l.token = excluded.token OR l.until <= excluded.until - $4::bigint RETURNING owner, until, until - $4::bigint`
	sqlReleaseLease = `DELETE FROM perdure.lease WHERE name = $1 AND token = $2 RETURNING ` + sqlNow
	sqlLeaseHolder  = `SELECT owner, until, ` + sqlNow + ` FROM perdure.lease WHERE name = $1 AND until > ` + sqlNow
)

// lease acquires, renews or releases a lease. It returns ErrLeaseLost with the holder for a release by a token that
// does not hold the lease.
func (r records) lease(ctx context.Context, req provider.LeaseRequest) (res provider.LeaseResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	err = r.db.autocommit(ctx, "lease", func(ctx context.Context, pool *pgxpool.Pool) error {
		res = provider.LeaseResult{}
		var err error
		if req.Action == provider.LeaseRelease {
			err = pool.QueryRow(ctx, r.db.names.sql(sqlReleaseLease), req.Name, uuid(req.Token)).Scan(&res.Now)
		} else {
			err = pool.QueryRow(ctx, r.db.names.sql(sqlAcquireLease), req.Name, req.Owner, uuid(req.Token), req.Duration.Microseconds()).
				Scan(&res.Owner, &res.Until, &res.Now)
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		err = pool.QueryRow(ctx, r.db.names.sql(sqlLeaseHolder), req.Name).Scan(&res.Owner, &res.Until, &res.Now)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return fmt.Errorf("lease %q: %w", req.Name, provider.ErrLeaseLost)
	})
	return res, err
}
