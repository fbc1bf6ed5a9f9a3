package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// listTimeout bounds the reads that may have to look at many rows.
const listTimeout = time.Minute

//nolint:gochecknoglobals // constant
var dialect = relational.Dialect{
	Table: "perdure_", True: "1", Mark: func(int) string { return "?" }, UUID: func(u provider.UUID) any { return u },
}

// List implements [provider.Lister].
func (rd *reader) List(ctx context.Context, req provider.ListRequest) (res provider.ListResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	c := dialect.Where(&req.Filter)
	if err := c.After(req.Cursor); err != nil {
		return res, err
	}
	sql := `SELECT ` + instanceColumns + instanceTables + c.SQL() + ` ORDER BY i.created_at DESC, i.key DESC LIMIT ?`
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err = rd.readSnapshot(ctx, "list", func(conn *conn) error {
		var tagged []int
		res = provider.ListResult{Now: rd.store.clock.wall()}
		err := conn.each(ctx, sql, func(r *row) error {
			var in provider.Instance
			if scanInstance(r, &in) {
				tagged = append(tagged, len(res.Instances))
			}
			res.Instances = append(res.Instances, in)
			return nil
		}, append(c.Args, req.Max+1)...)
		conn.evict(sql)
		if err != nil {
			return fmt.Errorf("perdure_instance: %w", err)
		}
		if len(res.Instances) > req.Max {
			last := &res.Instances[req.Max-1]
			res.Cursor = relational.WriteCursor(last.CreatedAt, last.Key)
			res.Instances = res.Instances[:req.Max]
		}
		for _, i := range tagged {
			if i >= len(res.Instances) {
				break
			}
			if res.Instances[i].Attributes, err = attributesOf(bound{ctx, conn}, res.Instances[i].Key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return provider.ListResult{}, err
	}
	return res, nil
}

// Count implements [provider.Lister].
func (rd *reader) Count(ctx context.Context, req provider.CountRequest) (res provider.CountResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	c := dialect.Where(&req.Filter)
	sql := `SELECT count(*) FROM perdure_instance i` + c.SQL()
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err = rd.read(ctx, "count", func(conn *conn) error {
		var err error
		res.Count, err = conn.integer(ctx, sql, c.Args...)
		conn.evict(sql)
		return err
	})
	return res, err
}

// evict drops the prepared form of a statement that was built for one filter.
func (c *conn) evict(sql string) {
	if s := c.stmts[sql]; s != nil {
		delete(c.stmts, sql)
		_ = s.raw.Close() // finalising repeats the statement's own error, which was returned
	}
}
