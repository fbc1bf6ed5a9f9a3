package memory

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/perdure/perdure"

// imported returns the packages of this module that the packages in some folders import, by file, without tests.
func imported(t *testing.T, folders ...string) map[string][]string {
	t.Helper()
	list := make(map[string][]string)
	for _, folder := range folders {
		names, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatalf("%s has %d files: %v", folder, len(names), err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range file.Imports {
				path, err := strconv.Unquote(i.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				if inside, ok := strings.CutPrefix(path, module); ok {
					list[name] = append(list[name], inside)
				}
			}
		}
	}
	return list
}

// The memory store is what random calls compare the SQL stores with (provider/validations/model). So neither has code of the other: they share
// the contract, which has no rules of a store.
func TestNoCodeIsSharedWithOtherStores(t *testing.T) {
	for name, paths := range imported(t, ".") {
		for _, path := range paths {
			if path != "/provider" {
				t.Errorf("%s imports %s: a mistake in it would be in both stores, and no comparison would show it", name, path)
			}
		}
	}
	for name, paths := range imported(t, "../internal/relational", "../internal/columns", "../sqlite", "../postgres") {
		for _, path := range paths {
			if strings.HasPrefix(path, "/provider/memory") {
				t.Errorf("%s imports %s: a mistake in it would be in both stores, and no comparison would show it", name, path)
			}
		}
	}
}
