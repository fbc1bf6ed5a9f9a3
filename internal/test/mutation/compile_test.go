package mutation

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// compiler checks the types of broken packages.
type compiler struct {
	files    *token.FileSet
	packages map[string][]string // the folder of each package of the module and its Go files
	imports  types.Importer
}

// newCompiler reads what the toolchain exports of each package, so that only broken packages are checked from their sources.
func newCompiler(t *testing.T) *compiler {
	t.Helper()
	module, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f",
		"{{.ImportPath}}\t{{.Dir}}\t{{.Export}}\t{{join .GoFiles \" \"}}", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	listed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	c := &compiler{files: token.NewFileSet(), packages: make(map[string][]string)}
	exports := make(map[string]string)
	for line := range strings.Lines(string(listed)) {
		pkg := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		exports[pkg[0]] = pkg[2]
		if folder, err := filepath.Rel(module, pkg[1]); err == nil && filepath.IsLocal(folder) {
			c.packages[filepath.ToSlash(folder)] = strings.Fields(pkg[3])
		}
	}
	c.imports = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

// check returns why a package does not compile with its broken and added files. Its other files are as they are.
func (c *compiler) check(folder string, broken map[string]string) error {
	var parsed []*ast.File
	names := slices.Clone(c.packages[folder])
	for name := range broken {
		if dir, base := path.Split(name); path.Clean(dir) == folder && !slices.Contains(names, base) {
			names = append(names, base)
		}
	}
	for _, base := range names {
		name := path.Join(folder, base)
		var source any // nil: the parser reads the file
		if text, ok := broken[name]; ok {
			source = text
		}
		file, err := parser.ParseFile(c.files, filepath.Join(root, filepath.FromSlash(name)), source, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		parsed = append(parsed, file)
	}
	if len(c.packages[folder]) == 0 {
		return errors.New(folder + " is no package that is built here")
	}
	_, err := (&types.Config{Importer: c.imports}).Check(folder, c.files, parsed, nil)
	return err
}

// buildAll returns why several broken packages, which may use each other, do not compile.
func buildAll(t *testing.T, folders []string, broken map[string]string) error {
	t.Helper()
	args := []string{"build", "-overlay=" + writeOverlay(t, t.TempDir(), broken)}
	for _, folder := range folders {
		args = append(args, "./"+folder)
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = root
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, tail(string(output)))
	}
	return nil
}

// A mutant that does not compile shows nothing of its test.
func TestMutantsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	c, module, mutants := newCompiler(t), &Module{Root: root}, all(t)
	sources, left, err := module.Switched(mutants)
	if err != nil {
		t.Fatal(err)
	}
	failing := make(map[string]bool) // folders with a mutant that does not compile
	for _, folder := range foldersOf(sources) {
		failing[folder] = c.check(folder, sources) != nil
	}
	for i, m := range mutants {
		broken, err := module.Broken(m.Changes)
		if err != nil {
			continue // TestMutantsFitTheCode tells
		}
		folders := foldersOf(broken)
		if left[i+1] == nil && !slices.ContainsFunc(folders, func(folder string) bool { return failing[folder] }) {
			continue
		}
		if len(folders) == 1 {
			err = c.check(folders[0], broken)
		} else {
			err = buildAll(t, folders, broken)
		}
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
	for folder, fails := range failing {
		if fails && !t.Failed() {
			t.Errorf("%s: each mutant compiles, but not all in one file: %v", folder, c.check(folder, sources))
		}
	}
	const folder = "internal/test/mutation"
	broken := map[string]string{folder + "/doc.go": "package mutation\n\nvar _ int = \"\"\n"}
	if c.check(folder, broken) == nil || buildAll(t, []string{folder}, broken) == nil {
		t.Error("a broken package compiles")
	}
}

// foldersOf returns the folders of files.
func foldersOf(files map[string]string) []string {
	folders := make(map[string]bool)
	for name := range files {
		folders[path.Dir(name)] = true
	}
	return slices.Sorted(maps.Keys(folders))
}
