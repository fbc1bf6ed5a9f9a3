package perdure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// No name has a word that only its authors understood. The field has another one for each: see the vocabulary in ARCHITECTURE.md.
func TestNamesHaveNoPrivateWords(t *testing.T) {
	private := []string{
		"ride", "rides", "rider", "helm", "census", "meal", "meals", "crowd", "warm", "lone", "fused", "apart", "bury", "courier", "historian",
		"doze", "dozing",
	}
	words := regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z]+`)
	found := 0
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && strings.HasPrefix(path.Base(name), ".") && name != "." {
			return fs.SkipDir
		}
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(node ast.Node) bool {
			id, ok := node.(*ast.Ident)
			if !ok {
				return true
			}
			found++
			for _, word := range words.FindAllString(id.Name, -1) {
				if slices.Contains(private, strings.ToLower(word)) {
					t.Errorf("%s: the name %s has the private word %q", files.Position(id.Pos()), id.Name, word)
				}
			}
			return true
		})
		return nil
	})
	if err != nil || found == 0 {
		t.Errorf("%d names, %v", found, err)
	}
}
