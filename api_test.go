package perdure_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	goimporter "go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// face lists the packages that users of the engine import.
var face = []string{"activity", "activity/activitytest", "client", "observe", "operate", "orchestration", "orchestrationtest", "runtime"}

// The exported API of the public packages mentions no type of the engine.
func TestPublicAPIMentionsNoInternalType(t *testing.T) {
	t.Parallel()
	for _, pkg := range loadPackages(t, face) {
		f := finder{pkg: pkg, seen: map[types.Type]bool{}}
		for _, name := range pkg.Scope().Names() {
			if obj := pkg.Scope().Lookup(name); obj.Exported() {
				f.object(obj)
			}
		}
		for _, found := range f.found {
			t.Errorf("%s", found)
		}
		if len(f.seen) == 0 {
			t.Errorf("%s: no API was found", pkg.Path())
		}
	}
}

// loadPackages loads the compiler's export data of packages of this module.
func loadPackages(t *testing.T, names []string) []*types.Package {
	t.Helper()
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export"}
	for _, name := range names {
		args = append(args, "./"+name)
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).Output()
	if err != nil {
		t.Fatalf("go %s: %v", strings.Join(args, " "), err)
	}
	exports := map[string]string{}
	for list := json.NewDecoder(bytes.NewReader(out)); list.More(); {
		var p struct {
			ImportPath string `json:"ImportPath"`
			Export     string `json:"Export"`
		}
		if err := list.Decode(&p); err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
	}
	imports := goimporter.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	loaded := make([]*types.Package, len(names))
	for i, name := range names {
		if loaded[i], err = imports.Import(module + name); err != nil {
			t.Fatal(err)
		}
	}
	return loaded
}

// finder searches the exports of a package for types of the engine.
type finder struct {
	pkg   *types.Package
	where string // the exported name being checked
	seen  map[types.Type]bool
	found []string
}

func (f *finder) object(obj types.Object) {
	f.where = obj.Name()
	name, isType := obj.(*types.TypeName)
	if !isType {
		f.mention(obj.Type())
		return
	}
	if alias, ok := obj.Type().(*types.Alias); ok {
		f.mention(alias.Rhs())
		return
	}
	named, _ := name.Type().(*types.Named)
	f.params(named.TypeParams())
	f.mention(named.Underlying())
	// An embedded type promotes its methods even if its own name is not exported.
	methods := types.NewMethodSet(types.NewPointer(named))
	for method := range methods.Methods() {
		if m := method.Obj(); m.Exported() {
			f.where = name.Name() + "." + m.Name()
			f.mention(m.Type())
		}
	}
}

func (f *finder) params(params *types.TypeParamList) {
	for param := range params.TypeParams() {
		f.mention(param.Constraint())
	}
}

// mention walks a type without opening named types. Those of the package are checked by themselves.
func (f *finder) mention(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		f.named(t.Obj())
		f.list(t.TypeArgs())
	case *types.Named:
		f.named(t.Obj())
		f.list(t.TypeArgs())
	case *types.Signature:
		f.params(t.TypeParams())
		f.mention(t.Params())
		f.mention(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			f.mention(v.Type())
		}
	case *types.Struct:
		f.fields(t)
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				f.mention(m.Type())
			}
		}
		for e := range t.EmbeddedTypes() {
			f.mention(e)
		}
	case *types.Union:
		for term := range t.Terms() {
			f.mention(term.Type())
		}
	case *types.Map:
		f.mention(t.Key())
		f.mention(t.Elem())
	case interface{ Elem() types.Type }:
		f.mention(t.Elem())
	}
}

// fields checks the fields that users reach, including those of embedded types.
func (f *finder) fields(s *types.Struct) {
	for v := range s.Fields() {
		switch inner, isStruct := v.Type().Underlying().(*types.Struct); {
		case v.Exported():
			f.mention(v.Type())
		case v.Embedded() && isStruct:
			f.fields(inner)
		}
	}
}

func (f *finder) list(args *types.TypeList) {
	for arg := range args.Types() {
		f.mention(arg)
	}
}

func (f *finder) named(name *types.TypeName) {
	f.seen[name.Type()] = true
	if p := name.Pkg(); p != nil && (strings.HasPrefix(p.Path(), module+"dispatcher") || strings.Contains(p.Path(), "/internal/")) {
		f.found = append(f.found, fmt.Sprintf("%s: %s mentions %s", f.pkg.Path(), f.where, name.Type()))
	}
}
