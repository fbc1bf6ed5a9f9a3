package postgres

import (
	"context"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

//nolint:gochecknoglobals // constant
var dialect = relational.Dialect{
	Table: defaultSchema + ".", True: "true", Mark: func(n int) string { return "$" + strconv.Itoa(n) },
	UUID: func(u provider.UUID) any { return uuid(u) },
}

// List implements [provider.Provider].
func (p *Provider) List(ctx context.Context, req provider.ListRequest) (res provider.ListResult, err error) {
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
	c.Args = append(c.Args, req.Max+1)
	sql := `SELECT ` + instanceColumns + instanceTables + c.SQL() + fmt.Sprintf(` ORDER BY i.created_at DESC, i.key DESC LIMIT $%d`, len(c.Args))
	err = p.snapshot(ctx, "list", func(ctx context.Context, tx pgx.Tx) error {
		res = provider.ListResult{}
		var err error
		if res.Instances, err = p.instances(ctx, tx, sql, c.Args...); err != nil {
			return err
		}
		return tx.QueryRow(ctx, `SELECT `+sqlNow).Scan(&res.Now)
	})
	if err != nil {
		return provider.ListResult{}, err
	}
	if len(res.Instances) > req.Max {
		last := &res.Instances[req.Max-1]
		res.Cursor = relational.WriteCursor(last.CreatedAt, last.Key)
		res.Instances = res.Instances[:req.Max]
	}
	return res, nil
}

// Count implements [provider.Provider].
func (p *Provider) Count(ctx context.Context, req provider.CountRequest) (res provider.CountResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	c := dialect.Where(&req.Filter)
	err = p.snapshot(ctx, "count", func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, p.names.sql(`SELECT count(*) FROM perdure.instance i`+c.SQL()), c.Args...).Scan(&res.Count)
	})
	return res, err
}
