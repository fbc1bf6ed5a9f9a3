package main

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/perdure/perdure/internal/testkit/settings"
)

// Each flag has a row with its default, and each row is a flag.
func TestPageTellsTheFlags(t *testing.T) {
	rows := settings.Table(t, "perdure-bench.md", "Flags", "flag")
	root := newRoot(&app{})
	see := func(command string) func(*pflag.Flag) {
		return func(f *pflag.Flag) {
			name := command + "--" + f.Name
			if !tells(rows[name], f.DefValue) {
				t.Errorf("%s has the default %q, the page says %v", name, f.DefValue, rows[name])
			}
			delete(rows, name)
		}
	}
	root.LocalFlags().VisitAll(see(""))
	for _, c := range root.Commands() {
		c.LocalNonPersistentFlags().VisitAll(see(c.Name() + " "))
	}
	for name := range rows {
		t.Errorf("there is no flag %s", name)
	}
}

// tells reports whether a row explains a flag and has its default. The page may say in words what an empty or zero default means.
func tells(row settings.Row, standard string) bool {
	cell := row["default"]
	figure, isFigure := settings.Figure(cell)
	if d, err := time.ParseDuration(standard); err == nil && isFigure {
		return row["what it is"] != "" && float64(d) == figure
	}
	inWords := (standard == "" || standard == "0" || standard == "[]") && cell != ""
	return row["what it is"] != "" && (inWords || strings.Trim(cell, "`") == standard)
}
