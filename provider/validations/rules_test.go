package validations

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A statement is one comment of the contract in one line, with the name that it describes.
type statement struct {
	of   string // such as "Provider.Create" or "TaskReport.Reason"
	text string
}

// contract lists all comments of package provider that can bind a provider. Functions and methods are code of the package and
// bind no provider.
func contract(t *testing.T) (list []statement) {
	t.Helper()
	names, err := filepath.Glob("../*.go")
	if err != nil || len(names) == 0 {
		t.Fatalf("finding the contract: %v", err)
	}
	files := token.NewFileSet()
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, paragraphs("package", file.Doc)...)
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok {
				list = append(list, declared(d)...)
			}
		}
	}
	return list
}

// declared lists the comments of a declaration, of its names and of their fields.
func declared(d *ast.GenDecl) (list []statement) {
	of := "" // the first name of a group of constants stands for the group
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			if !s.Name.IsExported() {
				return nil
			}
			of = s.Name.Name
			list = append(list, fields(s.Name.Name, s.Type)...)
		case *ast.ValueSpec:
			name := s.Names[0].Name
			if !s.Names[0].IsExported() {
				return nil
			}
			if of == "" {
				of = name
			}
			list = append(list, paragraphs(name, s.Doc)...)
			list = append(list, remark(name, s.Comment)...)
		}
	}
	return append(paragraphs(of, d.Doc), list...)
}

// fields lists the comments inside of a type.
func fields(of string, typ ast.Expr) (list []statement) {
	var all *ast.FieldList
	switch t := typ.(type) {
	case *ast.StructType:
		all = t.Fields
	case *ast.InterfaceType:
		all = t.Methods
	default:
		return nil
	}
	for _, f := range all.List {
		if len(f.Names) > 0 && !f.Names[0].IsExported() {
			continue
		}
		name := of
		if len(f.Names) > 0 {
			name += "." + f.Names[0].Name
		}
		list = append(list, paragraphs(name, f.Doc)...)
		list = append(list, remark(name, f.Comment)...)
	}
	return list
}

// paragraphs splits a comment of full sentences at empty lines, headings and list items.
func paragraphs(of string, doc *ast.CommentGroup) (list []statement) {
	var words []string
	end := func() {
		if len(words) > 0 {
			list = append(list, statement{of, strings.Join(words, " ")})
		}
		words = nil
	}
	for line := range strings.Lines(doc.Text()) {
		trimmed := strings.TrimSpace(line)
		item, isItem := strings.CutPrefix(trimmed, "- ")
		if trimmed == "" || isItem || strings.HasPrefix(trimmed, "# ") {
			end()
		}
		if !strings.HasPrefix(trimmed, "# ") {
			words = append(words, strings.Fields(item)...)
		}
	}
	end()
	return list
}

// remark returns a comment at the end of a line together with the name before it.
func remark(of string, c *ast.CommentGroup) []statement {
	if c == nil {
		return nil
	}
	return []statement{{of, of + ": " + strings.Join(strings.Fields(c.Text()), " ")}}
}

// quoted marks the bytes of a statement that the rules quote.
func quoted(text string, rules []string) []bool {
	marks := make([]bool, len(text))
	for _, rule := range rules {
		if at := strings.Index(text, rule); at >= 0 {
			for n := range rule {
				marks[at+n] = true
			}
		}
	}
	return marks
}

// unquoted returns the parts of each sentence of a statement that no rule quotes.
func unquoted(s statement, rules []string) (left []string) {
	marks := quoted(s.text, rules)
	begin := 0
	cut := func(end int) {
		part := strings.Trim(s.text[begin:end], " .,;:()")
		part = strings.TrimPrefix(part, "and ")
		if part != "" && part != "and" && part != s.of {
			left = append(left, part)
		}
		begin = end
	}
	for n := range s.text {
		if n > 0 && (marks[n] != marks[n-1] || strings.HasSuffix(s.text[:n], ". ")) {
			if marks[n-1] {
				begin = n
			}
			cut(n)
		}
		if marks[n] {
			begin = n + 1
		}
	}
	cut(len(s.text))
	return left
}

// A case that quotes a sentence which is gone from the contract checks something else.
func TestRulesAreQuoted(t *testing.T) {
	all := contract(t)
	seen := map[string]bool{}
	for _, c := range cases() {
		name := c.group + "/" + c.name
		places := slices.DeleteFunc(slices.Clone(all), func(s statement) bool { return !strings.Contains(s.text, c.rule) })
		switch len(places) {
		case 0:
			t.Errorf("%s quotes a sentence that is not in the contract: %s", name, c.rule)
		case 1:
		default:
			t.Errorf("%s quotes a sentence that is in the comments of both %s and %s: %s", name, places[0].of, places[1].of, c.rule)
		}
		if seen[name] || c.name == "" || c.rule == "" || c.run == nil {
			t.Errorf("%s is incomplete or exists twice", name)
		}
		seen[name] = true
	}
	t.Logf("%d cases", len(seen))
}

// Each part of each sentence is quoted by a case, checked by a case that quotes another, or binds no provider.
func TestEverySentenceHasACase(t *testing.T) {
	var rules []string
	names := map[string]bool{}
	for _, c := range cases() {
		rules = append(rules, c.rule)
		names[c.group+"/"+c.name] = true
	}
	covered := map[string]bool{} // the value reports whether the entry is used
	for name, parts := range restated() {
		if !names[name] {
			t.Errorf("there is no case %s", name)
		}
		for _, part := range parts {
			covered[part] = false
		}
	}
	for _, parts := range unbound() {
		for _, part := range parts {
			covered[part] = false
		}
	}
	for _, s := range contract(t) {
		for _, part := range unquoted(s, rules) {
			_, ofPart := covered[part]
			_, ofAll := covered[s.of]
			switch {
			case ofPart:
				covered[part] = true
			case ofAll:
				covered[s.of] = true
			default:
				t.Errorf("%s: no case quotes %q", s.of, part)
			}
		}
	}
	for part, used := range covered {
		if !used {
			t.Errorf("the tables of unquoted parts are stale: %q", part)
		}
	}
}
