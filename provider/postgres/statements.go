package postgres

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// columnwise matches the rows that a statement takes from several arrays, with the names of the columns if it names
// them.
var columnwise = regexp.MustCompile(`unnest\((\$\d+::\w+\[\](?:,\s*\$\d+::\w+\[\])+)\)(?:\s+(\w+)\s*\(([^)]*)\))?`)

// rowwise makes a statement index its arrays. unnest stores the rows of each array separately, which costs more than
// everything else in a single step.
func rowwise(statement string) string {
	return replaceColumns(statement, "(%s)[nth] AS %s", " FROM generate_subscripts(ARRAY, 1) nth")
}

// The remains of arrays in a statement for one row.
var (
	ofOne   = regexp.MustCompile(`ANY\(ARRAY\[([^\]]+)\]\)`)
	amongIt = regexp.MustCompile(`ANY\((\$\d+::\w+)\[\]\)`)
	lengths = regexp.MustCompile(`cardinality\((\$\d+::\w+\[\])\)`)
	arrays  = regexp.MustCompile(`(\$\d+::\w+)\[\]`)
)

// singleRow makes a statement take values in place of arrays. A single step sends one row of each kind, and arrays of one
// element cost the server as much as the work on them. A first value of NULL stands for no row.
func singleRow(statement string) string {
	statement = replaceColumns(statement, "%s AS %s", " WHERE ARRAY IS NOT NULL")
	statement = amongIt.ReplaceAllString(ofOne.ReplaceAllString(statement, "$1"), "$1")
	return arrays.ReplaceAllString(lengths.ReplaceAllString(statement, "($1 IS NOT NULL)::int"), "$1")
}

// replaceColumns rewrites each column that a statement takes from an array by a format, with its name, and the source
// of the columns.
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
	prefix  string
	mu      sync.RWMutex
	done    map[string]string // by the original statement
	singles map[string]string // the same, for one row
	steps   map[writes]string // single steps
}

func newNames(schema string) *names {
	return &names{
		prefix: pgx.Identifier{schema}.Sanitize() + ".",
		done:   make(map[string]string), singles: make(map[string]string), steps: make(map[writes]string),
	}
}

// sql returns a statement for this schema.
func (n *names) sql(statement string) string { return buildOnce(n, n.done, statement, n.rowwise) }

// single returns a statement over arrays rewritten for a single row, with values in place of the arrays.
func (n *names) forOneRow(statement string) string {
	return buildOnce(n, n.singles, statement, n.singleRow)
}

func (n *names) rowwise(statement string) string { return rowwise(n.inSchema(statement)) }

func (n *names) singleRow(statement string) string { return singleRow(n.inSchema(statement)) }

func (n *names) inSchema(statement string) string {
	return strings.ReplaceAll(relational.Variant(statement, false), defaultSchema+".", n.prefix)
}

// over returns a statement over arrays for a number of rows.
func (n *names) over(statement string, rows int) string {
	if rows == 1 {
		return n.forOneRow(statement)
	}
	return n.sql(statement)
}

// buildOnce returns a statement as form builds it, which happens once.
func buildOnce[Key comparable](n *names, done map[Key]string, key Key, form func(Key) string) string {
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

// uuid converts a UUID to the driver's. The zero value becomes NULL.
func uuid(u provider.UUID) pgtype.UUID { return pgtype.UUID{Bytes: u, Valid: !u.IsZero()} }

func uuids(list []provider.UUID) []pgtype.UUID {
	out := make([]pgtype.UUID, len(list))
	for i, u := range list {
		out[i] = uuid(u)
	}
	return out
}

// target reads a UUID that may be NULL.
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
	args   []any
	oneRow bool // there is one row, and its values are not in arrays
}

// column adds a column: the value of each row.
func column[Row, T any](c *columns, rows []Row, value func(*Row) T) {
	if c.oneRow {
		c.args = append(c.args, value(&rows[0]))
		return
	}
	list := make([]T, len(rows))
	for i := range rows {
		list[i] = value(&rows[i])
	}
	c.args = append(c.args, list)
}

// parameter is a parameter of a statement, an array or not.
var parameter = regexp.MustCompile(`\$(\d+)(::\w+\[\])?`)

// emptyOf returns the list of no rows for the type of a parameter.
//
//nolint:gochecknoglobals // constant
var emptyOf = map[string]any{
	"::uuid[]": []pgtype.UUID{}, "::bigint[]": []int64{}, "::smallint[]": []int16{}, "::text[]": []string{}, "::boolean[]": []bool{},
	"::bytea[]": [][]byte{}, "::xid[]": []pgtype.Uint32{},
}
