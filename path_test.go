package perdure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const pathHeading = "\n## One activity orchestration, from Start to Wait\n"

var pathRow = regexp.MustCompile("(?m)^\\| (\\d+)\\. .* \\| `([^`]+)` \\| `([^`]+)` \\|$")

// functionsOf returns the functions and methods that a file declares, methods as Type.method.
func functionsOf(path string) (map[string]bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.FromSlash(path), nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	for _, decl := range file.Decls {
		if fn, ok := decl.(*ast.FuncDecl); ok {
			found[receiverOf(fn)+fn.Name.Name] = true
		}
	}
	return found, nil
}

// receiverOf returns the type of a method's receiver and a dot, or "" for a function.
func receiverOf(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	expr := fn.Recv.List[0].Type
	for {
		switch e := expr.(type) {
		case *ast.StarExpr:
			expr = e.X
		case *ast.IndexExpr:
			expr = e.X
		case *ast.IndexListExpr:
			expr = e.X
		case *ast.Ident:
			return e.Name + "."
		default:
			return ""
		}
	}
}

// Every step in the table on the path of an orchestration names an existing function.
func TestPathOfAnOrchestrationExists(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(readPage(t, "ARCHITECTURE.md"), pathHeading)
	if !found {
		t.Fatalf("ARCHITECTURE.md has no section %q", strings.TrimSpace(pathHeading))
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := pathRow.FindAllStringSubmatch(section, -1)
	if lines := strings.Count(section, "\n| ") - 2; lines != len(rows) || lines < 1 || lines > 10 { // without the head of the table
		t.Errorf("the table has %d rows, %d in the form | n. step | `file` | `function` |; at most 10 are allowed", lines, len(rows))
	}
	for _, row := range rows {
		step, path, function := row[1], row[2], row[3]
		functions, err := functionsOf(path)
		switch {
		case err != nil:
			t.Errorf("step %s: reading %s: %v", step, path, err)
		case !functions[function]:
			t.Errorf("step %s: %s declares no function %s", step, path, function)
		}
	}
}
