package relational

import (
	"strings"

	"github.com/perdure/perdure/provider"
)

// Dialect is the part of shared SQL that differs between stores.
type Dialect struct {
	Table string                        // prefix of table names
	True  string                        // the constant for true
	Mark  func(n int) string            // the placeholder of argument n, from 1
	UUID  func(u provider.UUID) (v any) // as an argument
}

// Clauses builds a WHERE from constant text. All values are arguments.
type Clauses struct {
	Args    []any
	dialect *Dialect
	text    []string
}

// Add adds a condition. Each ? in it stands for the next argument.
func (c *Clauses) Add(text string, args ...any) {
	for _, a := range args {
		c.Args = append(c.Args, a)
		text = strings.Replace(text, "?", c.dialect.Mark(len(c.Args)), 1)
	}
	c.text = append(c.text, text)
}

// SQL returns the WHERE, "" if there is no condition.
func (c *Clauses) SQL() string {
	if len(c.text) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.text, " AND ")
}

// Where translates a filter into conditions on the table of instances, i.
func (d *Dialect) Where(f *provider.Filter) *Clauses {
	c := &Clauses{dialect: d}
	if !f.Replaced {
		c.Add("i.current = " + d.True)
	}
	if f.IDPrefix != "" {
		c.Add("substr(i.id, 1, length(CAST(? AS text))) = ?", f.IDPrefix, f.IDPrefix)
	}
	if f.Name != "" {
		c.Add("i.kind IN (SELECT id FROM "+d.Table+"kind WHERE name = ?)", f.Name)
	}
	if len(f.Statuses) > 0 {
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(f.Statuses)), ", ")
		args := make([]any, len(f.Statuses))
		for i, s := range f.Statuses {
			args[i] = int64(s)
		}
		c.Add("i.status IN ("+marks+")", args...)
	}
	if f.Blocked {
		c.Add("i.blocked = " + d.True)
	}
	if !f.ParentKey.IsZero() {
		c.Add("i.parent_key = ?", d.UUID(f.ParentKey))
	}
	if f.CreatedAfter != 0 {
		c.Add("i.created_at >= ?", int64(f.CreatedAfter))
	}
	if f.CreatedBefore != 0 {
		c.Add("i.created_at < ?", int64(f.CreatedBefore))
	}
	for _, a := range f.Attributes {
		c.Add("EXISTS (SELECT 1 FROM "+d.Table+"attribute a WHERE a.key = i.key AND a.name = ? AND a.kind = ? AND a.text = ? AND a.number = ?)",
			a.Name, int64(a.Kind), a.Text, a.Number)
	}
	return c
}

// After restricts a list to what follows a cursor.
func (c *Clauses) After(cursor string) error {
	if cursor == "" {
		return nil
	}
	at, key, err := ReadCursor(cursor)
	if err == nil {
		c.Add("(i.created_at, i.key) < (?, ?)", int64(at), c.dialect.UUID(key))
	}
	return err
}
