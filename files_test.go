package perdure_test

import (
	"bufio"
	"bytes"
	"go/ast"
	compiled "go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// callsBothWays lists the calls between files that run against the order of the other files of their package.
const callsBothWays = "testdata/calls_both_ways.txt"

// fileCall is a call from a file of a package to another one.
type fileCall struct{ dir, from, to string }

// Calls between the files of a package run one way, but for those that the list names: a reader can read the files in an order.
func TestCallsBetweenFilesRunOneWay(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it type-checks the module")
	}
	exceptions, exports := exceptionalCalls(t), map[string]string{}
	for _, p := range append(listAll(t, ".", "-export"), listAll(t, "bench", "-export")...) {
		exports[p.ImportPath] = p.Export
		dir := strings.TrimPrefix(p.ImportPath, module)
		if !p.ours() || strings.HasPrefix(dir, "internal/test/") {
			continue
		}
		calls := callsOf(t, p, dir, exports)
		for call := range calls {
			if exceptions[call] {
				delete(exceptions, call)
				delete(calls, call)
			}
		}
		if cycle := filesInCycles(calls); len(cycle) > 0 {
			t.Errorf("%s: calls run both ways between %s: move functions, or name the call in %s", dir, strings.Join(cycle, ", "), callsBothWays)
		}
	}
	for call := range exceptions {
		t.Errorf("%s: %s: %s does not call %s any more: remove the line", callsBothWays, call.dir, call.from, call.to)
	}
}

// exceptionalCalls reads the list: a line is "package: from.go -> to.go: why the call stays".
func exceptionalCalls(t *testing.T) map[fileCall]bool {
	t.Helper()
	text, err := os.ReadFile(callsBothWays)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[fileCall]bool{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		dir, pair, _ := strings.Cut(line, ": ")
		from, rest, _ := strings.Cut(pair, " -> ")
		to, why, _ := strings.Cut(rest, ": ")
		if why == "" {
			t.Fatalf("%s: line %q has not the form package: from.go -> to.go: why the call stays", callsBothWays, line)
		}
		calls[fileCall{dir, from, to}] = true
	}
	return calls
}

// callsOf returns the references to functions and methods of other files of the package. exports has the compiled files of what it imports.
func callsOf(t *testing.T, p *listed, dir string, exports map[string]string) map[fileCall]bool {
	t.Helper()
	fset := token.NewFileSet()
	files := make([]*ast.File, 0, len(p.GoFiles))
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	uses := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: compiled.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })}
	own, err := conf.Check(p.ImportPath, fset, files, uses)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[fileCall]bool{}
	fileOf := func(at token.Pos) string { return filepath.Base(fset.Position(at).Filename) }
	for use, object := range uses.Uses {
		called, ok := object.(*types.Func)
		if !ok || called.Pkg() != own {
			continue
		}
		called = called.Origin()
		if recv := called.Signature().Recv(); recv != nil && types.IsInterface(recv.Type()) {
			continue
		}
		if from, to := fileOf(use.Pos()), fileOf(called.Pos()); from != to {
			calls[fileCall{dir, from, to}] = true
		}
	}
	return calls
}

// filesInCycles returns the files that call each other both ways, directly or through others.
func filesInCycles(calls map[fileCall]bool) []string {
	callees := map[string]int{} // by file: how many other files it calls
	for call := range calls {
		callees[call.from]++
		callees[call.to] += 0
	}
	for removed := true; removed; { // files that call none are at the bottom of the order
		removed = false
		for file, n := range callees {
			if n > 0 {
				continue
			}
			delete(callees, file)
			removed = true
			for call := range calls {
				if call.to == file {
					callees[call.from]--
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(callees))
}
