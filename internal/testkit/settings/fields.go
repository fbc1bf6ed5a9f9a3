package settings

import (
	"iter"
	"reflect"
	"strings"
	"testing"
)

// Fields ranges over the settings of a struct of options by their names, such as "Lease" and "Cache.Bytes". A field whose type is
// named ...Options is a group. A field that is not exported is none: a test sets it.
func Fields(options reflect.Value) iter.Seq2[string, reflect.Value] {
	return func(yield func(string, reflect.Value) bool) {
		for i := range options.NumField() {
			name, field := options.Type().Field(i).Name, options.Field(i)
			if !options.Type().Field(i).IsExported() {
				continue
			}
			if !strings.HasSuffix(field.Type().Name(), "Options") {
				if !yield(name, field) {
					return
				}
				continue
			}
			for of, setting := range Fields(field) {
				if !yield(name+"."+of, setting) {
					return
				}
			}
		}
	}
}

// CheckDefaults compares a struct of options that has its defaults filled in with its table. The row of
// a number must have a figure that is its value, unless that is zero and the table has a word for it. The row of a text or a switch must
// have its value, and that of any other setting must not be empty.
func CheckDefaults(t testing.TB, table map[string]Row, column string, filled any) {
	t.Helper()
	for name, field := range Fields(reflect.ValueOf(filled)) {
		row, ok := table[name]
		if !ok {
			t.Errorf("the table does not have %s", name)
			continue
		}
		cell := row[column]
		want, isFigure := Figure(cell)
		inWords := !isFigure && field.IsZero()
		switch {
		case cell == "" || row["what it is"] == "":
			t.Errorf("the row of %s says nothing: %q", name, row)
		case field.CanInt() && !isNamed(field) && !inWords && (!isFigure || want != float64(field.Int())):
			t.Errorf("the default of %s is %d, the table says %q", name, field.Int(), cell)
		case field.CanFloat() && !inWords && (!isFigure || want != field.Float()):
			t.Errorf("the default of %s is %v, the table says %q", name, field.Float(), cell)
		case field.Kind() == reflect.Bool && cell != map[bool]string{true: "true", false: "false"}[field.Bool()]:
			t.Errorf("the default of %s is %v, the table says %q", name, field.Bool(), cell)
		case field.Kind() == reflect.String && field.String() != "" && strings.Trim(cell, "`") != field.String():
			t.Errorf("the default of %s is %q, the table says %q", name, field.String(), cell)
		}
	}
}

// isNamed reports whether a field's values have names, such as Full; a duration has none.
func isNamed(field reflect.Value) bool {
	return field.Type().PkgPath() != "" && field.Type().PkgPath() != "time"
}
