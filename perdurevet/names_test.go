package perdurevet

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// functionsOf returns the exported functions of a folder by their names, and methods as Type.Name, with their types.
func functionsOf(t *testing.T, folder string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %v, %v", folder, paths, err)
	}
	found := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.IsExported() {
				found[receiver(fn)+fn.Name.Name] = typeOf(fn)
			}
		}
	}
	return found
}

func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(fn.Recv.List[0].Type), "*"), "[")
	return name + "."
}

func typeOf(fn *ast.FuncDecl) string {
	text := types.ExprString(fn.Type)
	if fn.Type.TypeParams != nil {
		for _, field := range fn.Type.TypeParams.List {
			for _, name := range field.Names {
				text += " " + name.Name
			}
			text += " " + types.ExprString(field.Type)
		}
	}
	return text
}

// The functions that the rules know are functions of perdure.
func TestNamesExist(t *testing.T) {
	t.Parallel()
	actual := map[string]map[string]string{}
	for _, path := range []string{orchestrationPath, runtimePath, clientPath} {
		actual[path] = functionsOf(t, filepath.Join("..", filepath.Base(path)))
	}
	check := func(path, name string) {
		t.Helper()
		if _, ok := actual[path][name]; !ok {
			t.Errorf("%s has no %s", path, name)
		}
	}
	for _, table := range []map[string][]string{namedBy(), storedBy()} {
		for path, names := range table {
			for _, name := range names {
				check(path, name)
			}
		}
	}
	for _, name := range slices.Concat(quietMethods(), readingMethods(), scopedMethods()) {
		check(orchestrationPath, "Context."+name)
	}
	for typ, names := range orderedMethods() {
		for _, name := range names {
			check(orchestrationPath, typ+"."+name)
		}
	}
	for _, name := range slices.Concat(quietFunctions(), orderedFunctions(), []string{
		continueNow, continueLate, "Map", "HandleEvent", "HandleUpdate", "HandleQuery", "Validate", "SideEffect", "Context.Go", "Future.Cancel",
	}) {
		check(orchestrationPath, name)
	}
}

// A new function of package orchestration that takes what it stores, or a function by its name, belongs into a table.
func TestTablesAreComplete(t *testing.T) {
	t.Parallel()
	for _, path := range []string{orchestrationPath, runtimePath, clientPath} {
		for name, text := range functionsOf(t, filepath.Join("..", filepath.Base(path))) {
			takesWork := strings.Contains(text, "Context, In) (Out, error)") && !strings.HasPrefix(name, "Handle") && name != "Define"
			if takesWork && !slices.Contains(namedBy()[path], name) {
				t.Errorf("%s.%s takes an orchestration or activity: add it to namedBy", path, name)
			}
			if strings.Contains(text, "In, Out any") && !slices.Contains(storedBy()[path], name) {
				t.Errorf("%s.%s has inputs and outputs: add it to storedBy", path, name)
			}
		}
	}
}

// The packages that stand for perdure in testdata have the signatures of the real ones.
func TestStubs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"orchestration", "runtime"} {
		stubs, actual := functionsOf(t, filepath.Join("testdata", "perdure", name)), functionsOf(t, filepath.Join("..", name))
		for _, fn := range slices.Sorted(maps.Keys(stubs)) {
			if stubs[fn] != actual[fn] {
				t.Errorf("%s.%s is %q in testdata and %q in package %s", name, fn, stubs[fn], actual[fn], name)
			}
		}
	}
}

// The list of rules in the package's comment and on the page is that of Rules.
func TestRulesAreExplained(t *testing.T) {
	t.Parallel()
	for path, form := range map[string]string{"doc.go": "//   - %s: ", "../docs/how-to/check-orchestrations.md": "| `%s` | "} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, rules, found := strings.Cut(string(text), "\n## Rules\n"); found {
			text = []byte(rules)
		}
		at := 0
		for _, rule := range Rules() {
			next := strings.Index(string(text), strings.Replace(form, "%s", rule, 1))
			if next < at {
				t.Errorf("%s does not explain rule %s, or not in the order of Rules", path, rule)
			}
			at = max(at, next)
		}
		prefix, _, _ := strings.Cut(form, "%s")
		if n := strings.Count(string(text), "\n"+prefix); n != len(Rules()) {
			t.Errorf("%s explains %d rules, there are %d", path, n, len(Rules()))
		}
	}
}
