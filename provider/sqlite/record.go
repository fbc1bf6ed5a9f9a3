package sqlite

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

const (
	sqlRecord    = `SELECT key, value, version, updated_at FROM perdure_record WHERE namespace = ? AND key = ?`
	sqlPutRecord = `INSERT INTO perdure_record (namespace, key, version, updated_at, value) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET version = excluded.version, updated_at = excluded.updated_at, value = excluded.value`
	sqlDropRecord  = `DELETE FROM perdure_record WHERE namespace = ? AND key = ?`
	sqlScanRecords = `SELECT key, value, version, updated_at FROM perdure_record
		WHERE namespace = ? AND key >= ? AND key > ? ORDER BY key LIMIT ?`
)

// Record implements [provider.Keeper].
func (sh *shared) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	if err := req.Validate(); err != nil {
		return provider.RecordResult{}, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	if req.Action == provider.RecordGet || req.Action == provider.RecordScan {
		return sh.readRecords(ctx, &req)
	}
	return write(ctx, sh.handle, "record", len(req.Value), func(t *tx, res *provider.RecordResult) error {
		return t.writeRecord(&req, res)
	})
}

func scanRecord(r *row) provider.Record {
	return provider.Record{Key: r.text(0), Value: r.blob(1), Version: r.int(2), UpdatedAt: r.time(3)}
}

func (sh *shared) readRecords(ctx context.Context, req *provider.RecordRequest) (res provider.RecordResult, err error) {
	err = sh.read(ctx, "record", func(c *conn) error {
		plain := context.WithoutCancel(ctx) // at most a page
		res.Now = sh.store.clock.wall()
		collect := func(r *row) error {
			record := scanRecord(r)
			if len(record.Key) < len(req.Prefix) || record.Key[:len(req.Prefix)] != req.Prefix {
				return errStop // keys are in order: no other one has the prefix
			}
			res.Records = append(res.Records, record)
			return nil
		}
		if req.Action == provider.RecordScan {
			return c.each(plain, sqlScanRecords, collect, req.Namespace, req.Prefix, req.Key, req.Max)
		}
		found, err := c.one(plain, sqlRecord, func(r *row) { res.Records = []provider.Record{scanRecord(r)} }, req.Namespace, req.Key)
		if err == nil && !found {
			err = fmt.Errorf("record %q of %q: %w", req.Key, req.Namespace, provider.ErrNotFound)
		}
		return err
	})
	if err != nil {
		return provider.RecordResult{}, err
	}
	return res, nil
}

func (t *tx) writeRecord(req *provider.RecordRequest, res *provider.RecordResult) error {
	var stored provider.Record
	if _, err := t.one(sqlRecord, func(r *row) { stored = scanRecord(r) }, req.Namespace, req.Key); err != nil {
		return err
	}
	if stored.Version != req.Expect {
		return fmt.Errorf("record %q of %q has version %d, not %d: %w", req.Key, req.Namespace, stored.Version, req.Expect, provider.ErrConflict)
	}
	res.Now = t.Now
	if req.Action == provider.RecordDelete {
		if stored.Version != 0 {
			res.Records = []provider.Record{stored}
		}
		_, err := t.exec(sqlDropRecord, req.Namespace, req.Key)
		return err
	}
	now := provider.Record{Key: req.Key, Value: append([]byte{}, req.Value...), Version: stored.Version + 1, UpdatedAt: t.Now}
	res.Records = []provider.Record{now}
	_, err := t.exec(sqlPutRecord, req.Namespace, req.Key, now.Version, t.Now, req.Value)
	return err
}
