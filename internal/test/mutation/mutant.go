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

// Change replaces text in one file.
type Change struct {
	File string // relative to the module, with slashes
	Old  string // occurs in the file exactly once
	New  string
}

// Parse reads the format of the package comment.
func Parse(name, text string) (Mutant, error) {
	m := Mutant{Name: name}
	head, body, found := strings.Cut(text, "\nfile: ")
	if !found {
		return m, errors.New(`no line "file: PATH"`)
	}
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		if words, ok := strings.CutPrefix(line, "#"); ok {
			m.Broken = strings.TrimSpace(m.Broken + words)
		} else if test, ok := strings.CutPrefix(line, "test:"); ok {
			m.Package, m.Test, _ = strings.Cut(strings.TrimSpace(test), " ")
		} else if line != "" {
			return m, fmt.Errorf("unexpected line %q before the first file", line)
		}
	}
	if m.Broken == "" || m.Test == "" {
		return m, errors.New(`it needs a line "# what is broken" and a line "test: ./package TestName"`)
	}
	for block := range strings.SplitSeq(body, "\nfile: ") {
		change, err := parseChange(block)
		if err != nil {
			return m, err
		}
		m.Changes = append(m.Changes, change)
	}
	return m, nil
}

// parseChange reads a block after "file: ".
func parseChange(block string) (Change, error) {
	file, rest, ok := strings.Cut(block, "\n--- old\n")
	if !ok {
		return Change{}, fmt.Errorf("file %q is not followed by a line \"--- old\"", file)
	}
	before, rest, ok := strings.Cut(rest, "\n--- new\n")
	if !ok {
		return Change{}, fmt.Errorf("%s: no line \"--- new\"", file)
	}
	after, tail, ok := strings.Cut("\n"+rest, "\n--- end")
	if !ok || strings.TrimSpace(tail) != "" {
		return Change{}, fmt.Errorf("%s: no line \"--- end\", or something after it", file)
	}
	return Change{File: strings.TrimSpace(file), Old: before, New: strings.TrimPrefix(after, "\n")}, nil
}

// Apply returns source with the change made. It compares the old text token by token, so comments and white space do
// not count. A text that is no sequence of tokens, for example a piece of a string literal, must match literally.
func (c Change) Apply(source string) (string, error) {
	places := find(source, c.Old)
	if len(places) == 0 {
		places = findText(source, c.Old)
	}
	if n := len(places); n != 1 {
		return "", fmt.Errorf("%s: the old text stands there %d times, must be once:\n%s", c.File, n, c.Old)
	}
	return source[:places[0].begin] + c.New + source[places[0].end:], nil
}
