package postgres

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
)

// columnwise finds the rows that a statement takes from several arrays, with the names of the columns if it gives them any.
var columnwise = regexp.MustCompile(`unnest\((\$\d+::\w+\[\](?:,\s*\$\d+::\w+\[\])+)\)(?:\s+(\w+)\s*\(([^)]*)\))?`)

// rowwise has a statement pick the elements of its arrays. What unnest does instead costs more than all else that a lone step does: it
// keeps the rows of each array in a store of its own.
func rowwise(statement string) string {
	return replaceColumns(statement, "(%s)[nth] AS %s", " FROM generate_subscripts(ARRAY, 1) nth")
}

// What is left of arrays where a statement is for one row.
var (
	ofOne   = regexp.MustCompile(`ANY\(ARRAY\[([^\]]+)\]\)`)
	amongIt = regexp.MustCompile(`ANY\((\$\d+::\w+)\[\]\)`)
	lengths = regexp.MustCompile(`cardinality\((\$\d+::\w+\[\])\)`)
	arrays  = regexp.MustCompile(`(\$\d+::\w+)\[\]`)
)

// loneRow has a statement take values in place of arrays: a lone step sends one row of each kind, and arrays of one element cost the server as
// much as what it does with them. A first value that is null stands for no row.
func loneRow(statement string) string {
	statement = replaceColumns(statement, "%s AS %s", " WHERE ARRAY IS NOT NULL")
	statement = amongIt.ReplaceAllString(ofOne.ReplaceAllString(statement, "$1"), "$1")
	return arrays.ReplaceAllString(lengths.ReplaceAllString(statement, "($1 IS NOT NULL)::int"), "$1")
}

// replaceColumns writes each column that a statement takes from an array by a format, with its name, and where they come from.
func replaceColumns(statement, each, from string) string {
	return columnwise.ReplaceAllStringFunc(statement, func(found string) string {
		part := columnwise.FindStringSubmatch(found)
		arrays, alias, names := strings.Split(part[1], ","), part[2], strings.Split(part[3], ",")
		if alias == "" {
			alias, names = "w", nil
		}
		list := make([]string, len(arrays))
		for i, array := range arrays {
			name := fmt.Sprintf("c%d", i)
			if names != nil {
				name = strings.TrimSpace(names[i])
			}
			list[i] = fmt.Sprintf(each, strings.TrimSpace(array), name)
		}
		return fmt.Sprintf("(SELECT %s%s) %s", strings.Join(list, ", "), strings.ReplaceAll(from, "ARRAY", arrays[0]), alias)
	})
}

// names puts the schema's name into statements, which are written for the default one.
type names struct {
	prefix string
	mu     sync.RWMutex
	done   map[string]string // by the statement as it is written
	alone  map[string]string // the same, for one row
	steps  map[writes]string // lone steps
}

func newNames(schema string) *names {
	return &names{
		prefix: pgx.Identifier{schema}.Sanitize() + ".",
		done:   make(map[string]string), alone: make(map[string]string), steps: make(map[writes]string),
	}
}

// sql answers a statement for this schema.
func (n *names) sql(statement string) string { return made(n, n.done, statement, n.rowwise) }

// lone answers a statement over arrays for a single row, whose values stand in place of the arrays.
func (n *names) lone(statement string) string { return made(n, n.alone, statement, n.loneRow) }

// fused answers the statement that is a lone step of such writes.
func (n *names) fused(set writes) string { return made(n, n.steps, set, n.loneStep) }

func (n *names) rowwise(statement string) string { return rowwise(n.here(statement)) }

func (n *names) loneRow(statement string) string { return loneRow(n.here(statement)) }

func (n *names) loneStep(set writes) string { return n.here(set.sql()) }

func (n *names) here(statement string) string {
	return strings.ReplaceAll(statement, defaultSchema+".", n.prefix)
}

// over answers a statement over arrays for so many rows.
func (n *names) over(statement string, rows int) string {
	if rows == 1 {
		return n.lone(statement)
	}
	return n.sql(statement)
}

// made answers a statement as form makes it, once.
func made[Key comparable](n *names, done map[Key]string, key Key, form func(Key) string) string {
	n.mu.RLock()
	s, ok := done[key]
	n.mu.RUnlock()
	if ok {
		return s
	}
	s = form(key)
	n.mu.Lock()
	done[key] = s
	n.mu.Unlock()
	return s
}

// uuid turns a UUID into the driver's; the zero value is null.
func uuid(u provider.UUID) pgtype.UUID { return pgtype.UUID{Bytes: u, Valid: !u.IsZero()} }

func uuids(list []provider.UUID) []pgtype.UUID {
	out := make([]pgtype.UUID, len(list))
	for i, u := range list {
		out[i] = uuid(u)
	}
	return out
}

// target reads a UUID that may be null.
type target provider.UUID

// ScanUUID implements [pgtype.UUIDScanner].
func (t *target) ScanUUID(v pgtype.UUID) error {
	*t = target{}
	if v.Valid {
		*t = v.Bytes
	}
	return nil
}

func into(u *provider.UUID) *target { return (*target)(u) }

// columns collects the arguments of a statement over arrays, column by column.
type columns struct {
	args []any
	lone bool // there is one row: its values stand for themselves
}

// column adds one: the value of each row.
func column[Row, T any](c *columns, rows []Row, value func(*Row) T) {
	if c.lone {
		c.args = append(c.args, value(&rows[0]))
		return
	}
	list := make([]T, len(rows))
	for i := range rows {
		list[i] = value(&rows[i])
	}
	c.args = append(c.args, list)
}

// parameter is one of a statement, an array or not.
var parameter = regexp.MustCompile(`\$(\d+)(::\w+\[\])?`)

// emptyOf answers the list of no rows for the type of a parameter.
//
//nolint:gochecknoglobals // constant
var emptyOf = map[string]any{
	"::uuid[]": []pgtype.UUID{}, "::bigint[]": []int64{}, "::smallint[]": []int16{}, "::text[]": []string{}, "::boolean[]": []bool{},
	"::bytea[]": [][]byte{}, "::xid[]": []pgtype.Uint32{},
}
