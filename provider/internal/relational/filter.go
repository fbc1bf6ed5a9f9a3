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
	Order string                        // in statements around a sorted one: that they keep its order; "" where that goes without saying
	ByKey string                        // joins the row of instances, i, of each key d.found, one look-up at a time
	Among string                        // after the first column of an index: that it is ?, and that only this index has the order of its columns
	Rare  string                        // after a status other than running and completed: that the index of those has it; "" where that goes without saying

	Retrying string // after the name x of the table of tasks: that the index of tasks that are tried again is read; "" where that goes without saying
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

// plain translates the part of a filter that needs no attributes.
func (d *Dialect) plain(f *provider.Filter, args ...any) *Clauses {
	c := &Clauses{dialect: d, Args: args}
	if !f.Replaced {
		c.Add("i.current = " + d.True)
	}
	if f.IDPrefix != "" {
		c.addPrefix("i.id", f.IDPrefix)
	}
	if f.Name != "" || len(f.CodeVersions) > 0 {
		c.kinds(f)
	}
	if len(f.Statuses) > 0 {
		marks, args := list(f.Statuses, func(s provider.Status) any { return int64(s) })
		c.Add("i.status IN ("+marks+")", args...)
	}
	if f.Blocked {
		c.Add("i.blocked = " + d.True)
	}
	if f.Retrying {
		c.Add("(SELECT " + d.True + " FROM " + d.retrying() + " AND x.key = i.key LIMIT 1)")
	}
	if !f.ParentKey.IsZero() {
		c.Add("i.parent_key = ?", d.UUID(f.ParentKey))
	}
	if len(f.ParentKeys) > 0 {
		c.addParents("i", f.ParentKeys)
	}
	c.addTimes("i.created_at", f.CreatedAfter, f.CreatedBefore)
	if f.EndedAfter != 0 || f.EndedBefore != 0 {
		c.Add("i.ended_at > 0") // as the index of ended instances says
		c.addTimes("i.ended_at", f.EndedAfter, f.EndedBefore)
	}
	if f.FailureGroup != "" {
		c.Add("(SELECT "+d.True+" FROM "+d.Table+"outcome o WHERE o.key = i.key AND o.failure_group = ? AND o.failed_at = i.ended_at)", f.FailureGroup)
	}
	return c
}

// addParents restricts a row of instances to children of one of the parents.
func (c *Clauses) addParents(row string, keys []provider.UUID) {
	marks, args := list(keys, c.dialect.UUID)
	c.Add(row+".parent_key IS NOT NULL AND "+row+".parent_key IN ("+marks+")", args...) // as the index of children says
}

// kinds restricts the instances to the kinds with the name and the code versions of a filter.
func (c *Clauses) kinds(f *provider.Filter) {
	k := &Clauses{dialect: c.dialect, Args: c.Args, text: []string{"k.id = i.kind"}}
	k.kind(f)
	c.Args = k.Args
	c.text = append(c.text, "(SELECT "+c.dialect.True+" FROM "+c.dialect.Table+"kind k"+k.SQL()+")")
}

// kind adds the conditions on the table of kinds, k.
func (c *Clauses) kind(f *provider.Filter) {
	if f.Name != "" {
		c.Add("k.name = ?", f.Name)
	}
	if len(f.CodeVersions) > 0 {
		marks, args := list(f.CodeVersions, func(v string) any { return v })
		c.Add("k.code_version IN ("+marks+")", args...)
	}
}

// list returns the marks and arguments for a list of values.
func list[T any](values []T, arg func(T) any) (marks string, args []any) {
	args = make([]any, len(values))
	for i, v := range values {
		args[i] = arg(v)
	}
	return strings.TrimSuffix(strings.Repeat("?, ", len(values)), ", "), args
}

// addPrefix restricts a column to the texts with a prefix, as a range, which an index serves.
func (c *Clauses) addPrefix(column, prefix string) {
	c.Add(column+" >= ?", prefix)
	if after, ok := provider.AfterPrefix(prefix); ok {
		c.Add(column+" < ?", after)
	}
}

// addTimes restricts a column to a range.
func (c *Clauses) addTimes(column string, from, to provider.Time) {
	if from != 0 {
		c.Add(column+" >= ?", int64(from))
	}
	if to != 0 {
		c.Add(column+" < ?", int64(to))
	}
}

// whileRetrying is the condition of the index of tasks that are tried again, word for word, so that planners see that the index serves it.
const whileRetrying = "(x.attempt > 1 OR x.deliveries > 1)"

// retrying selects from the tasks, x, that are tried again. Their index is small and has their keys.
func (d *Dialect) retrying() string {
	return d.Table + "task x" + d.Retrying + " WHERE " + whileRetrying
}
