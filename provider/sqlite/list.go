package sqlite

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// listTimeout bounds the reads that may have to look at many rows.
const listTimeout = time.Minute

// clauses builds a WHERE from parts that are constants; all values are parameters.
type clauses struct {
	text []string
	args []any
}

func (c *clauses) add(text string, args ...any) {
	c.text = append(c.text, text)
	c.args = append(c.args, args...)
}

// where turns a filter into conditions.
func where(f *provider.Filter) *clauses {
	c := &clauses{}
	if !f.Replaced {
		c.add("i.current = 1")
	}
	if f.IDPrefix != "" {
		c.add("substr(i.id, 1, length(?)) = ?", f.IDPrefix, f.IDPrefix)
	}
	if f.Name != "" {
		c.add("i.kind IN (SELECT id FROM perdure_kind WHERE name = ?)", f.Name)
	}
	if len(f.Statuses) > 0 {
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(f.Statuses)), ", ")
		args := make([]any, len(f.Statuses))
		for i, s := range f.Statuses {
			args[i] = s
		}
		c.add("i.status IN ("+marks+")", args...)
	}
	if f.Blocked {
		c.add("i.blocked = 1")
	}
	if !f.ParentKey.IsZero() {
		c.add("i.parent_key = ?", f.ParentKey)
	}
	if f.CreatedAfter != 0 {
		c.add("i.created_at >= ?", f.CreatedAfter)
	}
	if f.CreatedBefore != 0 {
		c.add("i.created_at < ?", f.CreatedBefore)
	}
	for _, a := range f.Attributes {
		c.add(`EXISTS (SELECT 1 FROM perdure_attribute a WHERE a.key = i.key AND a.name = ? AND a.kind = ?
			AND a.text = ? AND a.number = ?)`, a.Name, a.Kind, a.Text, a.Number)
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
		c.add("(i.created_at, i.key) < (?, ?)", at, key)
	}
	sql := `SELECT ` + instanceColumns + instanceTables + c.sql() + ` ORDER BY i.created_at DESC, i.key DESC LIMIT ?`
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err = p.readSnapshot(ctx, "list", func(conn *conn) error {
		var tagged []int
		res = provider.ListResult{Now: p.store.clock.wall()}
		err := conn.each(ctx, sql, func(r *row) error {
			var in provider.Instance
			if scanInstance(r, &in) {
				tagged = append(tagged, len(res.Instances))
			}
			res.Instances = append(res.Instances, in)
			return nil
		}, append(c.args, req.Max+1)...)
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
			if res.Instances[i].Attributes, err = conn.attributes(ctx, res.Instances[i].Key); err != nil {
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

// Count implements [provider.Provider].
func (p *Provider) Count(ctx context.Context, req provider.CountRequest) (res provider.CountResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	c := where(&req.Filter)
	sql := `SELECT count(*) FROM perdure_instance i` + c.sql()
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	err = p.read(ctx, "count", func(conn *conn) error {
		var err error
		res.Count, err = conn.integer(ctx, sql, c.args...)
		conn.evict(sql)
		return err
	})
	return res, err
}

// evict drops the prepared form of a statement that was built for one filter.
func (c *conn) evict(sql string) {
	if s := c.stmts[sql]; s != nil {
		delete(c.stmts, sql)
		_ = s.raw.Close() // finalising repeats the statement's own error, which was answered
	}
}
