package serverless

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Finding is one thing in a document that is wrong, or outside of the subset.
type Finding struct {
	Line   int    // from 1
	Column int    // from 1, in characters; 0: not known
	Path   string // a JSON pointer into the document, such as /do/0/charge/with
	Text   string // what is wrong, and how to mend it
}

// String returns line, column, path and text.
func (f Finding) String() string {
	return fmt.Sprintf("%d:%d: %s: %s", f.Line, f.Column, f.Path, f.Text)
}

// Findings is the error of [Parse]: all that it has found, in the order of the document.
type Findings []Finding //nolint:errname // a list of what was found

// Error returns one line for each finding.
func (f Findings) Error() string {
	lines := make([]string, 0, len(f)+1)
	lines = append(lines, fmt.Sprintf("document refused: %d findings", len(f)))
	for _, one := range f {
		lines = append(lines, one.String())
	}
	return strings.Join(lines, "\n")
}

// sorted returns the findings in the order of the document.
func (f Findings) sorted() Findings {
	slices.SortStableFunc(f, func(a, b Finding) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		if a.Column != b.Column {
			return a.Column - b.Column
		}
		return strings.Compare(a.Path+a.Text, b.Path+b.Text)
	})
	return f
}

// failf notes a finding at a node.
func (r *reader) failf(n *yaml.Node, ref, format string, args ...any) {
	if ref == "" {
		ref = "/"
	}
	r.findings = append(r.findings, Finding{Line: n.Line, Column: n.Column, Path: ref, Text: fmt.Sprintf(format, args...)})
}
