package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"

	"golang.org/x/tools/go/analysis"
)

// module is what go list says of a module.
type module struct {
	Path      string    `json:"Path"`
	Version   string    `json:"Version"`
	GoVersion string    `json:"GoVersion"`
	Error     *struct{} `json:"Error"`
}

// listed is what go list says of a package.
type listed struct {
	Dir          string   `json:"Dir"`
	ImportPath   string   `json:"ImportPath"`
	Export       string   `json:"Export"`
	GoFiles      []string `json:"GoFiles"`
	CgoFiles     []string `json:"CgoFiles"`
	TestGoFiles  []string `json:"TestGoFiles"`
	XTestGoFiles []string `json:"XTestGoFiles"`
	Imports      []string `json:"Imports"`
	Module       *module  `json:"Module"`
	DepOnly      bool     `json:"DepOnly"` // no pattern names it
}

// inMain reports whether a package is of the main module: it has a module without a version.
func (p *listed) inMain() bool {
	return p.Module != nil && p.Module.Path != "" && p.Module.Version == "" && p.Module.Error == nil
}

// paths returns the paths of files of a package.
func (p *listed) paths(names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = filepath.Join(p.Dir, name)
	}
	return paths
}

// looker checks packages in one process: those of the main module from their source, the others by what the compiler exports.
type looker struct {
	analyzer *analysis.Analyzer
	fset     *token.FileSet

	order         []*listed // of the main module, dependencies first
	inMain        map[string]bool
	orchestrating map[string]bool // whether a listed package is or imports one whose functions the rules know
	exports       map[string]string
	foreign       types.Importer
	checked       map[string]*types.Package // of the main module
	facts         map[types.Object]analysis.Fact
}

func newLooker(analyzer *analysis.Analyzer) *looker {
	l := &looker{
		analyzer: analyzer, fset: token.NewFileSet(), inMain: map[string]bool{}, orchestrating: map[string]bool{},
		exports: map[string]string{}, checked: map[string]*types.Package{}, facts: map[types.Object]analysis.Fact{},
	}
	l.foreign = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) {
		if l.exports[path] == "" {
			return nil, fmt.Errorf("nothing is exported of %s", path)
		}
		return os.Open(l.exports[path])
	})
	for _, name := range []string{"orchestration", "runtime", "client"} {
		l.orchestrating["github.com/perdure/perdure/"+name] = true
	}
	return l
}

// list asks go list for the packages and what they import.
func (l *looker) list(patterns []string) error {
	all, err := goList(append([]string{"-deps", "-json=Dir,ImportPath,GoFiles,CgoFiles,TestGoFiles,XTestGoFiles,Imports,Module,DepOnly", "--"},
		patterns...))
	if err != nil {
		return err
	}
	named := false
	for _, p := range all {
		l.orchestrating[p.ImportPath] = l.orchestrating[p.ImportPath] || slices.ContainsFunc(p.Imports, l.reaches)
		named = named || !p.DepOnly
		switch {
		case p.inMain() && len(p.CgoFiles) == 0:
			l.order = append(l.order, p)
			l.inMain[p.ImportPath] = true
		case p.inMain() || !p.DepOnly:
			return fmt.Errorf("package %s has files of cgo or is of another module", p.ImportPath)
		}
	}
	if !named {
		return errors.New("no package has such a name")
	}
	return nil
}

// reaches reports whether code that imports a package may use package orchestration. It may if the package was not listed: only tests import it.
func (l *looker) reaches(path string) bool {
	reaches, isListed := l.orchestrating[path]
	return reaches || !isListed && path != "C"
}

// readExports finds out where the compiler has put what the other modules export to the units.
func (l *looker) readExports(units []*unit) error {
	var paths []string
	for _, u := range units {
		for _, path := range u.imports {
			if !l.inMain[path] && path != "unsafe" {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	if paths = slices.Compact(paths); len(paths) == 0 {
		return nil
	}
	all, err := goList(append([]string{"-export", "-json=ImportPath,Export,Module", "--"}, paths...))
	if err != nil {
		return err
	}
	for _, p := range all {
		if !p.inMain() { // only tests import it, and it was not listed
			l.exports[p.ImportPath] = p.Export
		}
	}
	return nil
}

// goList runs go list.
func goList(args []string) ([]*listed, error) {
	out, err := exec.Command("go", append([]string{"list"}, args...)...).Output() //nolint:gosec,noctx // what the user asks for, until it ends
	if err != nil {
		return nil, fmt.Errorf("running go list: %w", err)
	}
	var all []*listed
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading what go list says: %w", err)
		}
		all = append(all, &p)
	}
}

// importsOf returns the paths that files import.
func importsOf(files []string) ([]string, error) {
	var paths []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return nil, fmt.Errorf("parsing: %w", err)
		}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return nil, fmt.Errorf("reading the imports of %s: %w", name, err)
			}
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// Import implements [types.Importer].
func (l *looker) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	if !l.inMain[path] {
		return l.foreign.Import(path) //nolint:wrapcheck // the type checker says what it imports
	}
	if pkg := l.checked[path]; pkg != nil {
		return pkg, nil
	}
	return nil, fmt.Errorf("package %s is not checked", path)
}

// check type-checks and analyses a unit, and reports whether it has findings.
func (l *looker) check(u *unit) (found bool, err error) {
	var files []*ast.File
	for _, name := range u.files {
		file, err := parser.ParseFile(l.fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return false, fmt.Errorf("parsing: %w", err)
		}
		files = append(files, file)
	}
	config := &types.Config{Importer: l, Sizes: types.SizesFor("gc", build.Default.GOARCH), GoVersion: "go" + u.of.Module.GoVersion}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Instances: map[*ast.Ident]types.Instance{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	pkg, err := config.Check(u.path, l.fset, files, info)
	if err != nil {
		return false, fmt.Errorf("type-checking: %w", err)
	}
	if !u.example {
		l.checked[u.path] = pkg
	}
	pass := &analysis.Pass{
		Analyzer: l.analyzer, Fset: l.fset, Files: files, Pkg: pkg, TypesInfo: info, TypesSizes: config.Sizes,
		Module:           &analysis.Module{Path: u.of.Module.Path, GoVersion: u.of.Module.GoVersion},
		Report:           func(analysis.Diagnostic) { found = true },
		ExportObjectFact: func(of types.Object, fact analysis.Fact) { l.facts[of] = fact },
		ImportObjectFact: l.importFact,
	}
	if _, err := l.analyzer.Run(pass); err != nil {
		return false, fmt.Errorf("analysing: %w", err)
	}
	return found, nil
}

// importFact copies the fact about an object, and reports whether there is one.
func (l *looker) importFact(of types.Object, fact analysis.Fact) bool {
	known, ok := l.facts[of]
	if ok {
		reflect.ValueOf(fact).Elem().Set(reflect.ValueOf(known).Elem())
	}
	return ok
}
