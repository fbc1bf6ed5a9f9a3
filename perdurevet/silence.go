package perdurevet

import (
	"go/ast"
	"go/token"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// directive begins the comment that silences a line.
const directive = "//perdure:ok"

// silence is a comment that silences a line.
type silence struct {
	at     token.Pos
	file   string
	line   int // that it silences
	reason string
	used   bool
}

// silences returns the comments of a package that silence lines.
func silences(pass *analysis.Pass) []*silence {
	var found []*silence
	for _, file := range pass.Files {
		var lines map[int]bool
		for _, group := range file.Comments {
			for _, comment := range group.List {
				rest, ok := strings.CutPrefix(comment.Text, directive)
				if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
					continue
				}
				if lines == nil {
					lines = codeLines(pass.Fset, file)
				}
				at := pass.Fset.Position(comment.Pos())
				line := at.Line
				if !lines[line] { // it stands alone
					line = pass.Fset.Position(group.End()).Line + 1
				}
				reason, _, _ := strings.Cut(rest, "//") // what follows is another comment
				found = append(found, &silence{at: comment.Pos(), file: at.Filename, line: line, reason: strings.TrimSpace(reason)})
			}
		}
	}
	return found
}

// codeLines returns the lines on which something that is no comment begins or ends.
func codeLines(fset *token.FileSet, file *ast.File) map[int]bool {
	lines := map[int]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n.(type) {
		case nil, *ast.CommentGroup:
			return false
		case *ast.File: // it ends with its last comment
			return true
		}
		lines[fset.Position(n.Pos()).Line] = true
		lines[fset.Position(n.End()-1).Line] = true
		return true
	})
	return lines
}

// silenced reports whether a comment silences the line, and notes that the comment has its use.
func (c *checker) silenced(at token.Pos) bool {
	p, found := c.pass.Fset.Position(at), false
	for _, s := range c.silent {
		if s.file == p.Filename && s.line == p.Line {
			s.used, found = true, true
		}
	}
	return found
}

// unusedSilences reports comments that silence nothing or say not why.
func (c *checker) unusedSilences() {
	silent := c.silent
	c.silent = nil // none of them silences the rule about them
	for _, s := range silent {
		switch {
		case s.reason == "":
			c.reportf(ruleOK, s.at, "%s has no reason: a reader cannot judge it; write the reason behind it", directive)
		case !s.used:
			c.reportf(ruleOK, s.at, "%s silences nothing: its line has no finding; remove the comment", directive)
		}
	}
}
