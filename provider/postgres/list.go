package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// clauses builds a WHERE from parts that are constants; all values are parameters.
type clauses struct {
	text []string
	args []any
}

// add adds a condition in which each ? stands for the next argument.
func (c *clauses) add(text string, args ...any) {
	for _, a := range args {
		c.args = append(c.args, a)
		text = strings.Replace(text, "?", fmt.Sprintf("$%d", len(c.args)), 1)
	}
	c.text = append(c.text, text)
}

// where turns a filter into conditions.
func where(f *provider.Filter) *clauses {
	c := &clauses{}
	if !f.Replaced {
		c.add("i.current")
	}
	if f.IDPrefix != "" {
		c.add("starts_with(i.id, ?)", f.IDPrefix)
	}
	if f.Name != "" {
		c.add("i.kind IN (SELECT id FROM perdure.kind WHERE name = ?)", f.Name)
	}
	if len(f.Statuses) > 0 {
		statuses := make([]int16, len(f.Statuses))
		for i, s := range f.Statuses {
			statuses[i] = int16(s)
		}
		c.add("i.status = ANY(?::smallint[])", statuses)
	}
	if f.Blocked {
		c.add("i.blocked")
	}
	if !f.ParentKey.IsZero() {
		c.add("i.parent_key = ?", uuid(f.ParentKey))
	}
	if f.CreatedAfter != 0 {
		c.add("i.created_at >= ?", f.CreatedAfter)
	}
	if f.CreatedBefore != 0 {
		c.add("i.created_at < ?", f.CreatedBefore)
	}
	for _, a := range f.Attributes {
		c.add(`EXISTS (SELECT 1 FROM perdure.attribute a WHERE a.key = i.key AND a.name = ? AND a.kind = ?
			AND a.text = ? AND a.number = ?)`, a.Name, int16(a.Kind), a.Text, a.Number)
	}
	return c
}

func (c *clauses) sql() string {
	if len(c.text) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.text, " AND ")
}

// List implements [provider.Provider].
func (p *Provider) List(ctx context.Context, req provider.ListRequest) (res provider.ListResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	if req.Max == 0 {
		req.Max = provider.MaxPage
	}
	c := where(&req.Filter)
	if req.Cursor != "" {
		at, key, err := relational.ReadCursor(req.Cursor)
		if err != nil {
			return res, err
		}
		c.add("(i.created_at, i.key) < (?, ?)", at, uuid(key))
	}
	c.args = append(c.args, req.Max+1)
	sql := `SELECT ` + instanceColumns + instanceTables + c.sql() + fmt.Sprintf(` ORDER BY i.created_at DESC, i.key DESC LIMIT $%d`, len(c.args))
	err = p.snapshot(ctx, "list", func(ctx context.Context, tx pgx.Tx) error {
		res = provider.ListResult{}
		var err error
		if res.Instances, err = p.instances(ctx, tx, sql, c.args...); err != nil {
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
	c := where(&req.Filter)
	err = p.snapshot(ctx, "count", func(ctx context.Context, tx pgx.Tx) error {
		return tx.QueryRow(ctx, p.names.sql(`SELECT count(*) FROM perdure.instance i`+c.sql()), c.args...).Scan(&res.Count)
	})
	return res, err
}
