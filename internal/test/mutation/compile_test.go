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

// newCompiler reads what the toolchain exports of each package, so that only broken packages are checked from their sources. It reads
// the module at the root and those that the mutants break.
func newCompiler(t *testing.T, mutants []Mutant) *compiler {
	t.Helper()
	modules := map[string]bool{root: true}
	for _, m := range mutants {
		for _, change := range m.Changes {
			module, _ := moduleOf(change.Package)
			modules[module] = true
		}
	}
	c := &compiler{files: token.NewFileSet(), packages: make(map[string][]string)}
	exports := make(map[string]string)
	for _, module := range slices.Sorted(maps.Keys(modules)) {
		c.list(t, module, exports)
	}
	c.imports = importer.ForCompiler(c.files, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

// list notes the packages of a module, and where the exports of all that it builds are.
func (c *compiler) list(t *testing.T, module string, exports map[string]string) {
	t.Helper()
	checkout, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-f",
		"{{.ImportPath}}\t{{.Dir}}\t{{.Export}}\t{{join .GoFiles \" \"}}", "./...")
	cmd.Dir, cmd.Stderr = module, os.Stderr
	listed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(listed)) {
		pkg := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		exports[pkg[0]] = pkg[2]
		if folder, err := filepath.Rel(checkout, pkg[1]); err == nil && filepath.IsLocal(folder) {
			c.packages[filepath.ToSlash(folder)] = strings.Fields(pkg[3])
		}
	}
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
	overlay, packages := writeOverlay(t, t.TempDir(), broken), make(map[string][]string)
	for _, folder := range folders {
		module, inside := moduleOf(folder)
		packages[module] = append(packages[module], inside)
	}
	for module, built := range packages {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay=" + overlay}, built...)...)
		cmd.Dir = module
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w\n%s", err, tail(string(output)))
		}
	}
	return nil
}

// A mutant that does not compile shows nothing of its test.
func TestMutantsCompile(t *testing.T) {
	if testing.Short() {
		t.Skip("slow")
	}
	module, mutants := &Module{Root: root}, all(t)
	c := newCompiler(t, mutants)
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
	demandRefused(t, c, "internal/test/mutation", "model/serverless")
}

// demandRefused fails t unless packages compile, and no longer when they are broken.
func demandRefused(t *testing.T, c *compiler, folders ...string) {
	t.Helper()
	if err := buildAll(t, folders, nil); err != nil {
		t.Errorf("%v do not compile as they are: %v", folders, err)
	}
	for _, folder := range folders {
		broken := map[string]string{folder + "/doc.go": "package " + path.Base(folder) + "\n\nvar _ int = \"\"\n"}
		if c.check(folder, broken) == nil || buildAll(t, []string{folder}, broken) == nil {
			t.Errorf("%s compiles although it is broken", folder)
		}
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
