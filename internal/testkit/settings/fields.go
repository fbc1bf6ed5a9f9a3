package settings

import (
	"reflect"
	"strings"
	"testing"
)

// CheckDefaults compares a struct of options that has its defaults filled in with the table that tells of it. A field that is
// a number must have a figure that is its value, unless that is zero and the table has a word for it, and a text or a switch its value.
// Of all else the table must say something.
func CheckDefaults(t testing.TB, table map[string]Row, column string, filled any) {
	t.Helper()
	fields := reflect.ValueOf(filled)
	for i := range fields.NumField() {
		name, field := fields.Type().Field(i).Name, fields.Field(i)
		row, ok := table[name]
		if !ok {
			t.Errorf("the table does not tell of %s", name)
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

// isNamed tells whether a field's values have names, such as Full; a duration has none.
func isNamed(field reflect.Value) bool {
	return field.Type().PkgPath() != "" && field.Type().PkgPath() != "time"
}
