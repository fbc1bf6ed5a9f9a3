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
		"postgres/head_columns.go":                "postgres.tmpl",
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
		"sep": separator(), "add": func(a, b int) int { return a + b }, "array": array, "guard": guard, "read": read,
		"readSQLite": readSQLite, "bindSQLite": bindSQLite, "bindPostgres": bindPostgres, "target": target,
	}).ParseFS(templates, name)
	if err != nil {
		return nil, fmt.Errorf("parsing the template: %w", err)
	}
	var w bytes.Buffer
	err = t.Execute(&w, map[string][]Column{
		"Shown":   list(func(c Column) bool { return c.Shown != "" }),
		"Loaded":  list(func(c Column) bool { return c.Use&Loaded != 0 }),
		"Turned":  list(func(c Column) bool { return c.Use&Turned != 0 }),
		"Whole":   list(func(c Column) bool { return c.Use&(Turned|Held) != 0 }),
		"Stepped": list(func(c Column) bool { return c.Use&Stepped != 0 }),
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

func list(match func(c Column) bool) (matching []Column) {
	for _, c := range Instance() {
		if match(c) {
			matching = append(matching, c)
		}
	}
	return matching
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
	case Bool:
		return fmt.Sprintf("r.bool(%d)", i)
	case Time, NullTime:
		return fmt.Sprintf("r.time(%d)", i)
	case Small:
		return fmt.Sprintf("%s(r.int(%d))", c.Named, i)
	default:
		return fmt.Sprintf("r.int(%d)", i)
	}
}

func bindSQLite(c Column) string {
	switch c.Type {
	case NullText:
		return "textOrNull(h." + c.Field + ")"
	case NullTime:
		return "timeOrNull(h." + c.Field + ")"
	default:
		return "h." + c.Field
	}
}

// bindPostgres returns the result and the body of the function that gives a column's value.
func bindPostgres(c Column) string {
	field := "h." + c.Field
	switch c.Type {
	case UUID:
		return "pgtype.UUID { return uuid(" + field + ") }"
	case Text, NullText:
		return "string { return " + field + " }"
	case Small:
		return "int16 { return int16(" + field + ") }"
	case Bool:
		return "bool { return " + field + " }"
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
	case Bool:
		return "boolean[]"
	default:
		return "bigint[]"
	}
}

// guard returns the parameters of fillAsTheyWere, which come after the key and these columns.
func guard(before []Column) string {
	return fmt.Sprintf(", $%d::xid[], $%d::uuid[]", len(before)+2, len(before)+3)
}
