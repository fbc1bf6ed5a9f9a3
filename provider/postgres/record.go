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

// Record implements [provider.Provider].
func (p *Provider) Record(ctx context.Context, req provider.RecordRequest) (res provider.RecordResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	err = p.autocommit(ctx, "record", func(ctx context.Context, pool *pgxpool.Pool) error {
		res = provider.RecordResult{}
		err := p.record(ctx, pool, &req, &res)
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

func (p *Provider) record(ctx context.Context, pool *pgxpool.Pool, req *provider.RecordRequest, res *provider.RecordResult) error {
	value := req.Value
	if value == nil {
		value = []byte{}
	}
	switch req.Action {
	case provider.RecordGet:
		err := p.recordRows(ctx, pool, res, sqlRecord, req.Namespace, req.Key)
		if err == nil && len(res.Records) == 0 {
			err = fmt.Errorf("record %q of %q: %w", req.Key, req.Namespace, provider.ErrNotFound)
		}
		return err
	case provider.RecordScan:
		return p.recordRows(ctx, pool, res, sqlScanRecords, req.Namespace, req.Prefix, req.Key, req.Max)
	case provider.RecordDelete:
		return p.changed(ctx, pool, req, res, sqlDropRecord, req.Namespace, req.Key, req.Expect)
	default:
		if req.Expect == 0 {
			return p.changed(ctx, pool, req, res, sqlNewRecord, req.Namespace, req.Key, value)
		}
		return p.changed(ctx, pool, req, res, sqlPutRecord, req.Namespace, req.Key, value, req.Expect)
	}
}

// changed runs a statement that changes one row if its version is the expected one.
func (p *Provider) changed(
	ctx context.Context, pool *pgxpool.Pool, req *provider.RecordRequest, res *provider.RecordResult, sql string, args ...any,
) error {
	if err := p.recordRows(ctx, pool, res, sql, args...); err != nil || len(res.Records) > 0 {
		return err
	}
	var version int64
	var now provider.Time
	err := pool.QueryRow(ctx, p.names.sql(`SELECT version, `+sqlNow+` FROM perdure.record WHERE namespace = $1 AND key = $2`),
		req.Namespace, req.Key).Scan(&version, &now)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return err
	}
	if version == req.Expect { // to delete what is not there
		return nil
	}
	return fmt.Errorf("record %q of %q has version %d, not %d: %w", req.Key, req.Namespace, version, req.Expect, provider.ErrConflict)
}

func (p *Provider) recordRows(ctx context.Context, pool *pgxpool.Pool, res *provider.RecordResult, sql string, args ...any) error {
	rows, err := pool.Query(ctx, p.names.sql(sql), args...)
	if err != nil {
		return err
	}
	res.Records, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (rec provider.Record, err error) {
		return rec, r.Scan(&rec.Key, &rec.Value, &rec.Version, &rec.UpdatedAt, &res.Now)
	})
	return err
}
