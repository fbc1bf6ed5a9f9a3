package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/perdure/perdure/internal/testkit/settings"
)

// Each flag has a row with its default, and each row is a flag.
func TestPageTellsTheFlags(t *testing.T) {
	rows := settings.Table(t, "perdure-bench.md", "Flags", "flag")
	command := newRoot(&app{})
	command.InitDefaultHelpFlag()
	command.LocalFlags().VisitAll(func(f *pflag.Flag) {
		row, found := rows["--"+f.Name]
		delete(rows, "--"+f.Name)
		standard := strings.Trim(row["default"], "`")
		own := f.DefValue == "" || f.DefValue == "0" || f.DefValue == "[]" // the page says in words what that means
		if f.Name != "help" && (!found || row["what it is"] == "" || !own && standard != f.DefValue || own && standard == "") {
			t.Errorf("--%s has the default %q, the page says %v", f.Name, f.DefValue, row)
		}
	})
	for name := range rows {
		t.Errorf("there is no flag %s", name)
	}
}
