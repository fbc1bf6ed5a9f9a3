package perdure_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/perdure/perdure/internal/testkit/longtest"
)

// The module, that of bench and their tests type-check on systems that make test does not run on. Checking types takes a tenth of the
// time of the builds of make cross.
func TestTypesElsewhere(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	for _, system := range []string{"windows/amd64", "darwin/arm64"} {
		t.Run(system, func(t *testing.T) {
			t.Parallel()
			for dir, atLeast := range map[string]int{".": 100, "bench": 5} {
				if checked := checkTypes(t, listElsewhere(t, dir, system)); checked < atLeast {
					t.Errorf("%s: checked %d packages and sets of tests, which cannot be all", dir, checked)
				}
			}
		})
	}
}

// The comparison with other engines, a module of its own, type-checks with its tests. To build it means to compile all those engines.
func TestTypesOfTheComparison(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	if checked := checkTypes(t, listAll(t, filepath.Join("bench", "compare"), "-test", "CGO_ENABLED=0")); checked < 2 {
		t.Errorf("checked %d packages and sets of tests, which cannot be all", checked)
	}
}

// checkTypes checks listed packages and returns how many of them are the module's.
func checkTypes(t *testing.T, list []*listed) int {
	t.Helper()
	checked := 0
	w := world{fset: token.NewFileSet(), done: map[string]*types.Package{"unsafe": types.Unsafe}}
	for _, p := range list {
		if strings.HasSuffix(p.ImportPath, ".test") || p.ImportPath == "unsafe" {
			continue // the test binary of a package, which has no source
		}
		if err := w.check(p); err != nil {
			t.Errorf("%s: %v", p.ImportPath, err)
		}
		if p.ours() {
			checked++
		}
	}
	return checked
}

// listed is the output of go list for a package. A package of tests has the name of the tested package in brackets.
type listed struct {
	ImportPath string            `json:"ImportPath"`
	Dir        string            `json:"Dir"`
	Export     string            `json:"Export"` // the file of the compiled package, with -export
	GoFiles    []string          `json:"GoFiles"`
	SFiles     []string          `json:"SFiles"`
	ImportMap  map[string]string `json:"ImportMap"` // from paths in the source to those here
	Module     *struct {
		Main      bool   `json:"Main"`
		GoVersion string `json:"GoVersion"`
	} `json:"Module"`
}

func (p *listed) ours() bool { return p.Module != nil && p.Module.Main }

// listElsewhere lists the packages of the module in dir and its tests for another system.
func listElsewhere(t *testing.T, dir, system string) []*listed {
	t.Helper()
	name, arch, _ := strings.Cut(system, "/")
	return listAll(t, dir, "-test", "GOOS="+name, "GOARCH="+arch, "CGO_ENABLED=0")
}

// listAll lists the packages of the module in dir and all their dependencies, each after its own dependencies.
func listAll(t *testing.T, dir, flag string, env ...string) []*listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", flag, "-json=ImportPath,Dir,Export,GoFiles,SFiles,ImportMap,Module", "./...")
	cmd.Dir, cmd.Env = dir, append(append(os.Environ(), "GOFLAGS=-buildvcs=false"), env...) // without the flags of make test, such as -race
	var complaint strings.Builder
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, complaint.String())
	}
	var list []*listed
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		p := &listed{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return list
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
}

// world holds the packages checked so far.
type world struct {
	fset *token.FileSet
	done map[string]*types.Package
}

// check checks a package. It skips the function bodies of other modules.
func (w *world) check(p *listed) error {
	files, err := w.parse(p)
	if err != nil {
		return err
	}
	var problems []error
	conf := types.Config{
		Importer:         importer(func(path string) (*types.Package, error) { return w.imported(p, path) }),
		IgnoreFuncBodies: !p.ours(),
		Sizes:            types.SizesFor("gc", "amd64"),
		Error:            func(err error) { problems = append(problems, err) },
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		conf.GoVersion = "go" + p.Module.GoVersion
	}
	path, _, _ := strings.Cut(p.ImportPath, " ")
	pkg, _ := conf.Check(path, w.fset, files, nil) // its error is the first of problems
	if p.ours() && len(p.SFiles) == 0 {
		problems = append(problems, w.bodiless(files)...)
	}
	w.done[p.ImportPath] = pkg
	return errors.Join(problems...)
}

func (w *world) parse(p *listed) ([]*ast.File, error) {
	files := make([]*ast.File, len(p.GoFiles))
	var parsing errgroup.Group
	for i, name := range p.GoFiles {
		parsing.Go(func() error {
			var err error
			files[i], err = parser.ParseFile(w.fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			return err
		})
	}
	return files, parsing.Wait()
}

// bodiless returns a problem for each function without a body, which needs assembly. The type checker does not report
// these.
func (w *world) bodiless(files []*ast.File) []error {
	var problems []error
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body == nil {
				problems = append(problems, errors.New(w.fset.Position(fn.Pos()).String()+": "+fn.Name.Name+" has no body"))
			}
		}
	}
	return problems
}

func (w *world) imported(by *listed, path string) (*types.Package, error) {
	if mapped, ok := by.ImportMap[path]; ok {
		path = mapped
	}
	if pkg := w.done[path]; pkg != nil {
		return pkg, nil
	}
	return nil, errors.New("go list did not tell of " + path + " before " + by.ImportPath)
}

type importer func(path string) (*types.Package, error)

// Import implements [types.Importer].
func (f importer) Import(path string) (*types.Package, error) { return f(path) }
