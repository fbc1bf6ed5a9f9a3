package mutation

import (
	"errors"
	"fmt"
	"strings"
)

// Mutant is one way to break the code and the test that must notice it.
type Mutant struct {
	Name    string // path of its file under testdata, without the extension
	Broken  string // what the broken code does, in one sentence
	Package string // of the test, relative to the module
	Test    string
	Changes []Change
}

// Change replaces text in one function of a package, or anywhere in the package.
type Change struct {
	Package string   // relative to the module, with slashes
	Func    string   // "Name", or "Type.Name" of a method; "": the text stands outside of functions, or in no single one
	Imports []string // what the file must import for New
	Old     string   // occurs there exactly once
	New     string
}

// Parse reads the format of the package comment.
func Parse(name, text string) (Mutant, error) {
	m := Mutant{Name: name}
	head, body, found := strings.Cut(text, "\nin: ")
	if !found {
		return m, errors.New(`no line "in: PACKAGE FUNCTION"`)
	}
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		if words, ok := strings.CutPrefix(line, "#"); ok {
			m.Broken = strings.TrimSpace(m.Broken + words)
		} else if test, ok := strings.CutPrefix(line, "test:"); ok {
			m.Package, m.Test, _ = strings.Cut(strings.TrimSpace(test), " ")
		} else if line != "" {
			return m, fmt.Errorf("unexpected line %q before the first change", line)
		}
	}
	if m.Broken == "" || m.Test == "" {
		return m, errors.New(`it needs a line "# what is broken" and a line "test: ./package TestName"`)
	}
	for block := range strings.SplitSeq(body, "\nin: ") {
		change, err := parseChange(block)
		if err != nil {
			return m, err
		}
		m.Changes = append(m.Changes, change)
	}
	return m, nil
}

// parseChange reads a block after "in: ".
func parseChange(block string) (Change, error) {
	place, rest, ok := strings.Cut(block, "\n--- old\n")
	if !ok {
		return Change{}, fmt.Errorf("%q is not followed by a line \"--- old\"", place)
	}
	before, rest, ok := strings.Cut(rest, "\n--- new\n")
	if !ok {
		return Change{}, fmt.Errorf("%s: no line \"--- new\"", place)
	}
	after, tail, ok := strings.Cut("\n"+rest, "\n--- end")
	if !ok || strings.TrimSpace(tail) != "" {
		return Change{}, fmt.Errorf("%s: no line \"--- end\", or something after it", place)
	}
	c := Change{Old: before, New: strings.TrimPrefix(after, "\n")}
	place, more, _ := strings.Cut(place, "\n")
	c.Package, c.Func, _ = strings.Cut(strings.TrimSpace(place), " ")
	for line := range strings.Lines(more) {
		imported, ok := strings.CutPrefix(strings.TrimSpace(line), "imports: ")
		if !ok {
			return Change{}, fmt.Errorf("%s: unexpected line %q", place, line)
		}
		c.Imports = append(c.Imports, imported)
	}
	return c, nil
}
