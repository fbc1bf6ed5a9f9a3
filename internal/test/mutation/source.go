package mutation

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Module is the sources of a module, read when they are asked for.
type Module struct {
	Root     string
	packages map[string][]*file // by path
}

// file is one Go file of a package that is built on this machine, without its tests.
type file struct {
	path   string // relative to the module, with slashes
	source string
	funcs  map[string]span
}

// edit is one change in a file.
type edit struct {
	span

	text string
}

// Broken returns the files that the changes break, by path relative to the module, as they are then.
func (m *Module) Broken(changes []Change) (map[string]string, error) {
	edits, sources := make(map[string][]edit), make(map[string]string)
	imports := make(map[string]map[string]bool)
	for _, c := range changes {
		f, at, err := m.find(c)
		if err != nil {
			return nil, err
		}
		edits[f.path], sources[f.path] = append(edits[f.path], edit{at, c.New}), f.source
		for _, name := range c.Imports {
			if imports[f.path] == nil {
				imports[f.path] = make(map[string]bool)
			}
			imports[f.path][name] = true
		}
	}
	broken := make(map[string]string)
	for path, list := range edits {
		text, err := apply(sources[path], list)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		broken[path] = withImports(text, imports[path])
	}
	return broken, nil
}

// withImports returns a source that imports the packages, too.
func withImports(text string, names map[string]bool) string {
	for name := range names {
		if quoted := strconv.Quote(name); !strings.Contains(text, quoted) {
			text = packageClause.ReplaceAllString(text, "$0; import "+quoted)
		}
	}
	return text
}

var packageClause = regexp.MustCompile(`(?m)^package \w+`)

// find returns where the old text of a change stands. It compares token by token, so comments and white space do not count. A text that
// is no sequence of tokens, for example a piece of a string literal, must match literally.
func (m *Module) find(c Change) (in *file, at span, err error) {
	files, err := m.files(c.Package)
	if err != nil {
		return nil, at, err
	}
	n, known := 0, c.Func == ""
	for _, search := range []func(source, old string) []span{find, findText} {
		for _, f := range files {
			within := span{0, len(f.source)}
			if c.Func != "" {
				body, here := f.funcs[c.Func]
				if !here {
					continue
				}
				within, known = body, true
			}
			for _, found := range search(f.source[within.begin:within.end], c.Old) {
				n++
				in, at = f, span{within.begin + found.begin, within.begin + found.end}
			}
		}
		if n > 0 {
			break
		}
	}
	switch {
	case !known:
		return nil, at, fmt.Errorf("package %s has no function %s", c.Package, c.Func)
	case n != 1:
		return nil, at, fmt.Errorf("%s: the old text stands there %d times, must be once:\n%s", strings.TrimSpace(c.Package+" "+c.Func), n, c.Old)
	}
	return in, at, nil
}

// files reads a package.
func (m *Module) files(pkg string) ([]*file, error) {
	if files, ok := m.packages[pkg]; ok {
		return files, nil
	}
	dir := filepath.Join(m.Root, filepath.FromSlash(pkg))
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading package %s: %w", pkg, err)
	}
	var files []*file
	for _, entry := range entries {
		name := entry.Name()
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if here, err := build.Default.MatchFile(dir, name); err != nil || !here {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("reading package %s: %w", pkg, err)
		}
		files = append(files, &file{path: path.Join(pkg, name), source: string(data), funcs: functions(string(data))})
	}
	if m.packages == nil {
		m.packages = make(map[string][]*file)
	}
	m.packages[pkg] = files
	return files, nil
}

// functions returns where the functions of a file stand, with their comments, by name: "Name", or "Type.Name" of a method.
func functions(source string) map[string]span {
	out, set := make(map[string]span), token.NewFileSet()
	parsed, err := parser.ParseFile(set, "", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil { // the compiler says so, too
		return out
	}
	for _, decl := range parsed.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		begin := fn.Pos()
		if fn.Doc != nil {
			begin = fn.Doc.Pos()
		}
		out[receiver(fn)+fn.Name.Name] = span{set.Position(begin).Offset, set.Position(fn.End()).Offset}
	}
	return out
}

// receiver returns the type of a method and a dot, "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return ""
	}
	of := fn.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name + "."
		default:
			return ""
		}
	}
}
