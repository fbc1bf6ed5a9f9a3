package columns

import (
	"bytes"
	"embed"
	"fmt"
	"go/format"
	"strings"
	"text/template"
)

//go:embed *.tmpl
var templates embed.FS

// Files returns the generated files by their paths from the folder provider.
func Files() (map[string][]byte, error) {
	all := make(map[string][]byte)
	for path, name := range map[string]string{
		"internal/relational/instance_columns.go": "relational.tmpl",
		"sqlite/head_columns.go":                  "sqlite.tmpl",
		"sqlite/task_columns.go":                  "sqlite_task.tmpl",
		"postgres/head_columns.go":                "postgres.tmpl",
		"postgres/task_columns.go":                "postgres_task.tmpl",
	} {
		source, err := render(name)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", path, err)
		}
		all[path] = source
	}
	return all, nil
}

func render(name string) ([]byte, error) {
	t, err := template.New(name).Funcs(template.FuncMap{
		"sep": separator(), "add": add, "array": array, "guard": guard, "read": read,
		"readSQLite": readSQLite, "bindSQLite": bindSQLite, "bindPostgres": bindPostgres, "target": target, "marks": marks,
	}).ParseFS(templates, name)
	if err != nil {
		return nil, fmt.Errorf("parsing the template: %w", err)
	}
	var w bytes.Buffer
	err = t.Execute(&w, map[string][]Column{
		"Shown":   list(Instance(), func(c Column) bool { return c.Shown != "" }),
		"Loaded":  list(Instance(), func(c Column) bool { return c.Use&Loaded != 0 }),
		"Turned":  list(Instance(), func(c Column) bool { return c.Use&Turned != 0 }),
		"Whole":   list(Instance(), func(c Column) bool { return c.Use&(Turned|Held) != 0 }),
		"Stepped": list(Instance(), func(c Column) bool { return c.Use&Stepped != 0 }),
		"Read":    list(Task(), func(c Column) bool { return c.Use&Read != 0 }),
		"Added":   list(Task(), func(c Column) bool { return c.Use&Added != 0 }),
		"Ranked":  list(Task(), func(c Column) bool { return c.Use&Ranked != 0 }),
		"Changed": list(Task(), func(c Column) bool { return c.Use&Changed != 0 }),
	})
	if err != nil {
		return nil, fmt.Errorf("executing the template: %w", err)
	}
	source, err := format.Source(w.Bytes())
	if err != nil {
		return nil, fmt.Errorf("formatting %s: %w", w.Bytes(), err)
	}
	return source, nil
}

func list(all []Column, match func(c Column) bool) (matching []Column) {
	for _, c := range all {
		if match(c) {
			matching = append(matching, c)
		}
	}
	return matching
}

// marks returns the parameters of a statement of SQLite.
func marks(lists ...[]Column) string {
	n := 0
	for _, columns := range lists {
		n += len(columns)
	}
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}

// separator returns what makes a comma before all but the first column, and a new line after every sixth.
func separator() func(i int) string {
	n := 0
	return func(i int) string {
		if i == 0 {
			n = 0
			return ""
		}
		if n++; n%6 == 0 {
			return ",\n\t"
		}
		return ", "
	}
}

// OfBlocked reports whether the column says why an instance is blocked.
func (c Column) OfBlocked() bool { return strings.HasPrefix(c.Shown, "Blocked.") }

// read returns the call by which a column of a whole row is read.
func read(c Column, i int) string {
	switch c.Type {
	case UUID:
		return fmt.Sprintf("r.UUID(%d)", i)
	case Text, NullText:
		return fmt.Sprintf("r.Text(%d)", i)
	case Bool:
		return fmt.Sprintf("r.Bool(%d)", i)
	case Time, NullTime:
		return fmt.Sprintf("provider.Time(r.Int(%d))", i)
	case Small:
		return fmt.Sprintf("%s(r.Int(%d))", c.Named, i)
	default:
		return fmt.Sprintf("r.Int(%d)", i)
	}
}

func readSQLite(c Column, i int) string {
	switch c.Type {
	case UUID:
		return fmt.Sprintf("r.uuid(%d)", i)
	case Text, NullText:
		return fmt.Sprintf("r.text(%d)", i)
	case Bool, NullBool:
		return fmt.Sprintf("r.bool(%d)", i)
	case Time, NullTime:
		return fmt.Sprintf("r.time(%d)", i)
	case Small:
		return fmt.Sprintf("%s(r.int(%d))", c.Named, i)
	default:
		return fmt.Sprintf("r.int(%d)", i)
	}
}

// bindSQLite returns the parameter for a column of the row h.
func bindSQLite(c Column) string {
	field := "h." + c.Field
	if c.Given != "" {
		field = c.Given
	}
	switch c.Type {
	case NullText:
		return "textOrNull(" + field + ")"
	case NullTime:
		return "timeOrNull(" + field + ")"
	case NullBool:
		return "begunOrNull(h)"
	default:
		return field
	}
}

// bindPostgres returns the result and the body of the function that gives a column's value.
func bindPostgres(c Column) string {
	field := "h." + c.Field + c.Given
	switch c.Type {
	case UUID:
		return "pgtype.UUID { return uuid(" + field + ") }"
	case Text, NullText:
		return "string { return " + field + " }"
	case Small:
		return "int16 { return int16(" + field + ") }"
	case Bool, NullBool:
		return "bool { return " + field + " }"
	case Bytes:
		return "[]byte { return " + field + " }"
	case Time, NullTime:
		return "int64 { return int64(" + field + ") }"
	default:
		return "int64 { return " + field + " }"
	}
}

// target returns where a column of Postgres goes.
func target(c Column) string {
	if c.Type == UUID {
		return "into(&h." + c.Field + ")"
	}
	return "&h." + c.Field
}

// array returns the type of a parameter that has the values of a column of several rows.
func array(c Column) string {
	switch c.Type {
	case UUID:
		return "uuid[]"
	case Text, NullText:
		return "text[]"
	case Small:
		return "smallint[]"
	case Bool, NullBool:
		return "boolean[]"
	case Bytes:
		return "bytea[]"
	default:
		return "bigint[]"
	}
}

// guard returns the parameters of fillAsTheyWere, which come after the key and these columns.
func guard(before []Column) string {
	return fmt.Sprintf(", $%d::xid[], $%d::uuid[]", len(before)+2, len(before)+3)
}

func add(numbers ...int) (sum int) {
	for _, n := range numbers {
		sum += n
	}
	return sum
}
