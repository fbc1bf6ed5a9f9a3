package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/perdure/perdure/client"
)

// goNames recognizes names of Go in texts.
type goNames struct {
	qualified *regexp.Regexp // such as client.Force
	word      *regexp.Regexp
	exported  map[string]bool // those of the library that have at least two humps: others are words of English, too
}

func newGoNames(t *testing.T) *goNames {
	t.Helper()
	n := &goNames{
		qualified: regexp.MustCompile(`\b(activity|client|dashboard|dispatcher|invariant|operate|orchestration|postgres|provider|runtime|sqlite)\.[A-Z]\w*` +
			`|\b(set|give|pass) [A-Z][a-z]+, or\b`),
		word:     regexp.MustCompile(`\b[A-Z]\w+\b`),
		exported: map[string]bool{},
	}
	for _, dir := range []string{"activity", "client", "dashboard", "operate", "orchestration", "provider", "provider/postgres", "provider/sqlite", "runtime"} {
		for _, file := range goFiles(t, filepath.Join("../..", dir), false) {
			ast.Inspect(file.tree, func(node ast.Node) bool {
				id, ok := node.(*ast.Ident)
				if ok && id.IsExported() && humps(id.Name) > 1 {
					n.exported[id.Name] = true
				}
				return true
			})
		}
	}
	for _, seen := range slices.Concat(client.HistoryKinds(), []string{"ContinuedAsNew"}) { // operators see them in histories
		delete(n.exported, seen)
	}
	return n
}

// humps counts the words of a name in camel case.
func humps(name string) (n int) {
	lower := true
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			n++
		}
		lower = !unicode.IsUpper(r)
	}
	return n
}

// in returns the names in a text.
func (n *goNames) in(text string) []string {
	found := n.qualified.FindAllString(text, -1)
	for _, word := range n.word.FindAllString(text, -1) {
		if n.exported[word] {
			found = append(found, word)
		}
	}
	return found
}

// A goFile is a parsed file of a package.
type goFile struct {
	path string
	set  *token.FileSet
	tree *ast.File
}

// goFiles parses the files of a package that are no tests, and with below those of the packages in it.
func goFiles(t *testing.T, dir string, below bool) (list []goFile) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != dir && !below:
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		list = append(list, goFile{path, set, tree})
		return err
	})
	if err != nil || len(list) == 0 {
		t.Fatalf("%s: %d files, %v", dir, len(list), err)
	}
	return list
}

// unseen are texts of the library that no command can print, by a part of each, and why.
func unseen() map[string]string {
	const (
		made = "it is about how a program makes a client or a store, which the command line does right"
		inTx = "no command works in a transaction of its caller"
		code = "it is about arguments of Go that no command passes on"
	)
	return map[string]string{
		"give client.New an open one": made, "client option ": made, "make one with client.New": made, "give it to operate.New": made, "the client that client.New has made": made,
		"take one from client.Start or client.Lookup": made, "take one from Operator.StartBulk": made, "ListenURL": made, "MaxConns of its configuration": made,
		"InTx": inTx, "BeginTx": inTx, "OnComplete": inTx,
		"ID policy ": code, "FollowFor(": code, "WithRequestID without WithID": code, "ConfirmWithin(": code, "give RoleViewer": code, "WithLimitGrace without a limit": code,
		"to Update or to UpdateHandle.Wait": code, "the event of client.After": code,
		"(provider.": "the stores of the command line show their rows",
	}
}

// No error that a command can print names functions, types or fields of Go.
func TestErrorsNameNothingOfGo(t *testing.T) {
	t.Parallel()
	names := newGoNames(t)
	used := map[string]bool{}
	for _, dir := range []string{
		".", "../../client", "../../operate", "../../internal/access", "../../provider/postgres", "../../provider/sqlite", "../../provider/internal",
		"../../internal/bulk", "../../internal/check",
		"../../internal/control", "../../internal/invariant", "../../internal/retention", "../../internal/schedule", "../../internal/upgrade",
	} {
		for _, file := range goFiles(t, dir, dir != "../../client" && dir != "../../operate" && dir != ".") {
			if file.path == "operator.go" || strings.HasPrefix(filepath.Base(file.path), "example") {
				continue
			}
			ast.Inspect(file.tree, func(node ast.Node) bool {
				switch node := node.(type) {
				case *ast.ImportSpec:
					return false
				case *ast.Field:
					node.Tag = nil
				case *ast.BasicLit:
					text, err := strconv.Unquote(node.Value)
					if node.Kind != token.STRING || err != nil || !strings.Contains(text, " ") {
						return true
					}
					found := names.in(operatorText(text))
					if len(found) == 0 {
						return true
					}
					excused := false
					for part := range unseen() { // all of them: a text may have two parts, and each counts as used
						if strings.Contains(text, part) {
							used[part], excused = true, true
						}
					}
					if excused {
						return true
					}
					t.Errorf("%s: %q names %q", file.set.Position(node.Pos()), text, found)
				}
				return true
			})
		}
	}
	for part := range maps.Keys(unseen()) {
		if !used[part] {
			t.Errorf("no text has %q any more", part)
		}
	}
}

// No help and no output that a test keeps names functions, types or fields of Go.
func TestHelpAndOutputsNameNothingOfGo(t *testing.T) {
	t.Parallel()
	names := newGoNames(t)
	for _, path := range append(commandsOf(newRoot(&app{}), ""), groupsOf(newRoot(&app{}), "")...) {
		code, out, errs := perdure(t, "", append([]string{"help"}, strings.Fields(path)...)...)
		if code != exitOK {
			t.Fatalf("help %s: %s", path, errs)
		}
		if found := names.in(out); len(found) > 0 {
			t.Errorf("the help of %q names %q", path, found)
		}
	}
	for _, pattern := range []string{"testdata/*.golden", "testdata/scripts/*.script"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if found := names.in(string(text)); len(found) > 0 {
				t.Errorf("%s names %q", path, found)
			}
		}
	}
}
