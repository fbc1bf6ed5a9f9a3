package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"

	"github.com/perdure/perdure/perdurevet"
)

// remaining looks at the packages in this process and returns the arguments for go vet: those of the packages that may have findings. It
// returns nil if none has one, and args if it cannot tell. One process reads each dependency once, and go vet once for each package.
func remaining(args []string) []string {
	analyzer := perdurevet.New()
	patterns, ok := withoutTests(analyzer, args)
	if !ok {
		return args
	}
	l := newLooker(analyzer)
	if err := l.list(patterns); err != nil {
		return args // go vet finds it, too, and says it
	}
	suspects, err := l.look()
	if err != nil {
		return args
	}
	if len(suspects) == 0 {
		return nil
	}
	return append(slices.Clone(args[:len(args)-len(patterns)]), suspects...)
}

// withoutTests returns the packages that the arguments name. ok is false if there are other flags than those of the analyzer, or if tests are
// to be checked: those are compiled together with copies of what they import.
func withoutTests(analyzer *analysis.Analyzer, args []string) (patterns []string, ok bool) {
	flags := flag.NewFlagSet(analyzer.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	analyzer.Flags.VisitAll(func(f *flag.Flag) { flags.Var(f.Value, analyzer.Name+"."+f.Name, f.Usage) })
	if err := flags.Parse(args); err != nil {
		return nil, false
	}
	return flags.Args(), analyzer.Flags.Lookup("tests").Value.String() == "false"
}

// unit is what is type-checked and analysed together.
type unit struct {
	of      *listed
	path    string
	files   []string
	imports []string
	example bool // it has examples, and nothing imports it
}

// look returns the named packages that may have findings, by their import paths.
func (l *looker) look() ([]string, error) {
	suspects := map[string]bool{}
	var units []*unit
	for _, p := range l.order {
		units = append(units, &unit{of: p, path: p.ImportPath, files: p.paths(p.GoFiles), imports: p.Imports})
	}
	for _, p := range l.order {
		if p.DepOnly {
			continue
		}
		more, err := examplesOf(p)
		if err != nil {
			return nil, err
		}
		units = append(units, more...)
	}
	units, err := l.needed(units)
	if err != nil {
		return nil, err
	}
	if err := l.readExports(units); err != nil {
		return nil, err
	}
	for _, u := range units {
		found, err := l.check(u)
		if err != nil && !u.example { // an example may use what other tests declare
			return nil, err
		}
		if !u.of.DepOnly && (found || err != nil) {
			suspects[u.of.ImportPath] = true
		}
	}
	return slices.Sorted(maps.Keys(suspects)), nil
}

// examplesOf returns the files of examples of a package. Those of its own package are checked together with it.
func examplesOf(p *listed) ([]*unit, error) {
	var units []*unit
	if files := examples(p.TestGoFiles); len(files) > 0 {
		units = append(units, &unit{of: p, path: p.ImportPath, files: p.paths(slices.Concat(p.GoFiles, files)), example: true})
	}
	if files := examples(p.XTestGoFiles); len(files) > 0 {
		units = append(units, &unit{of: p, path: p.ImportPath + "_test", files: p.paths(files), example: true})
	}
	for _, u := range units {
		imports, err := importsOf(u.files)
		if err != nil {
			return nil, err
		}
		u.imports = imports
	}
	return units, nil
}

func examples(names []string) []string {
	var found []string
	for _, name := range names {
		if strings.HasPrefix(name, "example") {
			found = append(found, name)
		}
	}
	return found
}

// needed returns the units that may have findings, and what they import from the main module, dependencies first.
func (l *looker) needed(units []*unit) ([]*unit, error) {
	wanted := map[string]bool{}
	var found []*unit
	for _, u := range slices.Backward(units) {
		want := wanted[u.path] && !u.example
		if !want && !u.of.DepOnly {
			var err error
			if want, err = l.mayFind(u); err != nil {
				return nil, err
			}
		}
		if !want {
			continue
		}
		found = append(found, u)
		for _, path := range u.imports {
			wanted[path] = true
		}
	}
	slices.Reverse(found)
	return found, nil
}

// mayFind reports whether a unit may have findings: its imports lead to package orchestration, or it has a comment that silences findings.
func (l *looker) mayFind(u *unit) (bool, error) {
	if l.orchestrating[u.path] || slices.ContainsFunc(u.imports, l.reaches) {
		return true, nil
	}
	for _, name := range u.files {
		text, err := os.ReadFile(filepath.Clean(name))
		if err != nil {
			return false, fmt.Errorf("looking for comments: %w", err)
		}
		if bytes.Contains(text, []byte("//perdure:ok")) {
			return true, nil
		}
	}
	return false, nil
}
