package features

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/settings"
)

// The page names every feature of the lists, and -run with each name that it has runs a test.
func TestPageNamesTests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		heading, column, pkg string
		rows                 int
	}{
		{"Features of activities", "feature", "internal/test/features", 10},
		{"Orchestrations", "feature", "internal/test/features", 11},
		{"Local activities", "feature", "internal/test/local", 15},
		{"Cancellation of activities", "name in the plan", "internal/test/cancellation", 22},
	} {
		rows := settings.Table(t, "acceptance.md", c.heading, c.column)
		if len(rows) != c.rows {
			t.Errorf("%s: %d rows, the list has %d", c.heading, len(rows), c.rows)
		}
		tests := testsOf(t, c.pkg)
		for name, row := range rows {
			named := strings.Trim(row["test in `"+c.pkg+"`"], "`")
			_, sub, _ := strings.Cut(named, "/")
			if last := sub[strings.LastIndex(sub, "/")+1:]; !strings.HasSuffix(name, last) || !tests.runs(named) {
				t.Errorf("%s: %s has no test: -run %q runs nothing", c.heading, name, named)
			}
		}
	}
}

// tests has the functions of a package's tests, by name.
type tests map[string]*ast.FuncDecl

// testsOf parses a package's tests.
func testsOf(t *testing.T, pkg string) tests {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(settings.Root(t), pkg, "*_test.go"))
	if err != nil || len(paths) == 0 {
		t.Fatal(pkg, err)
	}
	all := tests{}
	for _, path := range paths {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				all[fn.Name.Name] = fn
			}
		}
	}
	return all
}

// runs reports whether -run with a name runs a test: each element between slashes is the name of a test below the one before.
func (all tests) runs(name string) bool {
	top, below, deep := strings.Cut(name, "/")
	fn := all[top]
	return fn != nil && strings.HasPrefix(top, "Test") && (!deep || slices.ContainsFunc(all.below(fn.Body, nil, 0), func(path string) bool {
		return path == below || strings.HasPrefix(path, below+"/")
	}))
}

// values are the texts that a variable has, by its name.
type values map[string][]string

// below returns the paths of the tests that a body runs with t.Run, as far as the source says their names.
func (all tests) below(body ast.Node, known values, depth int) (paths []string) {
	const deepest = 6
	if depth > deepest {
		return nil
	}
	known = all.learn(body, known)
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch fn := call.Fun.(type) {
		case *ast.SelectorExpr:
			if fn.Sel.Name != "Run" || len(call.Args) != 2 {
				return true
			}
			lit, ok := call.Args[1].(*ast.FuncLit)
			if !ok {
				return true
			}
			for _, name := range all.texts(call.Args[0], known) {
				name = strings.ReplaceAll(name, " ", "_")
				paths = append(paths, name)
				for _, path := range all.below(lit.Body, known, depth+1) {
					paths = append(paths, name+"/"+path)
				}
			}
			return false
		case *ast.Ident:
			if helper := all[fn.Name]; helper != nil && len(call.Args) > 0 && isT(call.Args[0]) {
				paths = append(paths, all.below(helper.Body, nil, depth+1)...)
			}
		}
		return true
	})
	return paths
}

func isT(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "t"
}

// learn adds the variables of a body that range over the keys of a map, or are such a map.
func (all tests) learn(body ast.Node, known values) values {
	known = maps.Clone(known)
	if known == nil {
		known = values{}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if id, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Lhs) == 1 {
				if keys := all.keys(n.Rhs[0], known); len(keys) > 0 {
					known[id.Name] = keys
				}
			}
		case *ast.CallExpr:
			if fn, ok := n.Fun.(*ast.SelectorExpr); ok && fn.Sel.Name == "Run" {
				return false // what is below it has names of its own
			}
		case *ast.RangeStmt:
			if id, ok := n.Key.(*ast.Ident); ok {
				known[id.Name] = all.keys(n.X, known)
			}
		}
		return true
	})
	return known
}

// keys returns the keys of a map: of a literal, of a variable, or of what a function of the package returns.
func (all tests) keys(e ast.Expr, known values) (keys []string) {
	switch e := e.(type) {
	case *ast.Ident:
		return known[e.Name]
	case *ast.CallExpr:
		fn, ok := e.Fun.(*ast.Ident)
		if !ok || all[fn.Name] == nil {
			return nil
		}
		ast.Inspect(all[fn.Name].Body, func(n ast.Node) bool {
			if lit, ok := n.(*ast.CompositeLit); ok && len(keys) == 0 {
				keys = all.keys(lit, nil)
			}
			return true
		})
	case *ast.CompositeLit:
		for _, item := range e.Elts {
			if pair, ok := item.(*ast.KeyValueExpr); ok {
				keys = append(keys, all.texts(pair.Key, known)...)
			}
		}
	}
	return keys
}

// texts returns the texts that an expression can have: a literal, a variable, or the sum of two.
func (all tests) texts(e ast.Expr, known values) (list []string) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil {
			return []string{text}
		}
	case *ast.Ident:
		return known[e.Name]
	case *ast.BinaryExpr:
		for _, x := range all.texts(e.X, known) {
			for _, y := range all.texts(e.Y, known) {
				list = append(list, x+y)
			}
		}
	}
	return list
}

// A name of which the first elements alone are right runs nothing, and is found.
func TestNamesThatRunNothingAreFound(t *testing.T) {
	t.Parallel()
	all := testsOf(t, "internal/test/cancellation")
	for name, runs := range map[string]bool{
		"TestActivity_GracePeriod":                                                                       true,
		"TestActivity_GracePeriod/activity_exceeds_grace_period":                                         true,
		"TestActivity_GracePeriod/activity_exceeds":                                                      false,
		"TestActivity_StateOfTheExecution/renew_succeeds_when_orchestration_running":                     false,
		"TestActivity_StateOfTheExecution/memory/renewal_alone":                                          true,
		"TestActivity_StateOfTheExecution/memory/another_node/renew_succeeds_when_orchestration_running": true,
		"TestNothing": false,
	} {
		if all.runs(name) != runs {
			t.Errorf("%s runs a test: %v, want %v", name, !runs, runs)
		}
	}
}
