package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// listTimeout bounds the reads that may have to scan many rows.
const listTimeout = time.Minute

//nolint:gochecknoglobals // constant
var dialect = relational.Dialect{
	Table: "perdure_", True: "1", Mark: func(int) string { return "?" }, UUID: func(u provider.UUID) any { return u },
	ByKey:    "CROSS JOIN perdure_instance i ON i.key = d.found",
	Among:    " = ?",
	Retrying: " INDEXED BY perdure_task_retrying", // it would read the rows of all tasks of an instance, by their key
	Rare:     " AND i.status IN (2, 4, 5, 6)",     // the condition of the index, word for word
}

// A reader has the calls that scan many instances. They need no writer, and see committed data.
type reader struct{ *handle }

// List implements [provider.Lister].
func (rd *reader) List(ctx context.Context, req provider.ListRequest) (res provider.ListResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err = rd.readSnapshot(ctx, "list", func(conn *conn) error {
		res = provider.ListResult{Now: rd.store.clock.wall()}
		places, cursor, err := dialect.Find(lookup{ctx, conn}, &req)
		if err != nil {
			return err
		}
		res.Cursor = cursor
		err = listRows(bound{ctx, conn}, &req, places, &res)
		res.Reached = relational.Reached(res.Cursor)
		return err
	})
	if err != nil {
		return provider.ListResult{}, err
	}
	return res, nil
}

// listRows reads the rows of a page until they fill it.
func listRows(db statements, req *provider.ListRequest, places []relational.Position, res *provider.ListResult) error {
	sql, bytes := listStatement(req), 0
	for n, place := range places {
		var in provider.Instance
		attributes := false
		_, err := db.one(sql, func(r *row) { attributes = scanInstance(r, &in) }, place.Key)
		if err != nil {
			return fmt.Errorf("perdure_instance %s: %w", place.Key, err)
		}
		req.Trim(&in)
		if bytes += in.ListBytes(); n > 0 && bytes > provider.MaxFetchBytes {
			res.Cursor = relational.WriteCursor(places[n-1].At, places[n-1].Key)
			return nil
		}
		if attributes && !req.Omits(provider.ListAttributes) {
			if in.Attributes, err = attributesOf(db, in.Key); err != nil {
				return err
			}
		}
		res.Instances = append(res.Instances, in)
	}
	return nil
}

// listStatement returns the statement for a listed row. It reads no result.
func listStatement(req *provider.ListRequest) string {
	if req.Omits(provider.ListCustomStatus) {
		return sqlListedShort
	}
	return sqlListed
}

// Count implements [provider.Lister].
func (rd *reader) Count(ctx context.Context, req provider.CountRequest) (res provider.CountResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err = rd.readSnapshot(ctx, "count", func(conn *conn) error {
		res, err = dialect.Count(lookup{ctx, conn}, &req)
		return err
	})
	if err != nil {
		return provider.CountResult{}, err
	}
	return res, nil
}

// lookup implements [relational.Lookup]. It keeps no statement prepared.
type lookup struct {
	ctx  context.Context //nolint:containedctx // of one call
	conn *conn
}

// Numbers implements [relational.Lookup].
func (l lookup) Numbers(sql string, args ...any) (list []int64, err error) {
	defer l.conn.evict(sql)
	err = l.conn.each(l.ctx, sql, func(r *row) error {
		list = append(list, r.int(0))
		return nil
	}, args...)
	return list, err
}

// Places implements [relational.Lookup].
func (l lookup) Places(sql string, args ...any) (list []relational.Position, err error) {
	defer l.conn.evict(sql)
	err = l.conn.each(l.ctx, sql, func(r *row) error {
		list = append(list, relational.Position{At: r.time(0), Key: r.uuid(1)})
		return nil
	}, args...)
	return list, err
}

// Tally implements [relational.Lookup].
func (l lookup) Tally(sql string, args ...any) (scanned, matched int64, err error) {
	defer l.conn.evict(sql)
	err = l.conn.each(l.ctx, sql, func(r *row) error {
		scanned, matched = r.int(0), r.int(1)
		return nil
	}, args...)
	return scanned, matched, err
}

// evict drops the prepared form of a statement that was built for one filter.
func (c *conn) evict(sql string) {
	if s := c.stmts[sql]; s != nil {
		delete(c.stmts, sql)
		_ = s.raw.Close() // finalising repeats the statement's own error, which was returned
	}
}
