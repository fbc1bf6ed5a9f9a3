package main

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/perdure/perdure/internal/testkit/settings"
)

// Each flag has a row with its default, and each row is a flag.
func TestPageTellsTheFlags(t *testing.T) {
	rows := settings.Table(t, "command-line.md", "Flags", "flag")
	missing := maps.Clone(rows)
	for name, std := range flagsBelow(newRoot(&app{})) {
		delete(missing, name)
		switch row := rows[name]; {
		case row["what it is"] == "":
			t.Errorf("command-line.md does not list %s", name)
		case !sameDefault(std, row["default"]):
			t.Errorf("the default of %s is %q, the page says %q", name, std, row["default"])
		}
	}
	for name := range missing {
		t.Errorf("there is no flag %s", name)
	}
}

// flagsBelow returns the defaults of the flags of a command and its subcommands.
func flagsBelow(cmd *cobra.Command) map[string]string {
	found := flagsOf(cmd)
	for _, c := range cmd.Commands() {
		maps.Copy(found, flagsBelow(c))
	}
	return found
}

// flagsOf returns the defaults of a command's own flags. It uses reflection, since the type of a flag is in a
// module that only cobra imports.
func flagsOf(cmd *cobra.Command) map[string]string {
	found := map[string]string{}
	_, path, _ := strings.Cut(cmd.CommandPath()+" ", " ")
	visit := reflect.ValueOf(cmd.LocalFlags()).MethodByName("VisitAll")
	visit.Call([]reflect.Value{reflect.MakeFunc(visit.Type().In(0), func(args []reflect.Value) []reflect.Value {
		if name := args[0].Elem().FieldByName("Name").String(); name != "help" {
			found[path+"--"+name] = args[0].Elem().FieldByName("DefValue").String()
		}
		return nil
	})})
	return found
}

// sameDefault compares a flag's default with the page. The page may describe a zero default in words.
func sameDefault(std, cell string) bool {
	figure, isFigure := settings.Figure(cell)
	if d, err := time.ParseDuration(std); err == nil && isFigure {
		return float64(d) == figure
	}
	switch std {
	case "", "[]", "0", "0s":
		return cell != "" && !isFigure
	default:
		return strings.Trim(cell, "`") == std
	}
}
