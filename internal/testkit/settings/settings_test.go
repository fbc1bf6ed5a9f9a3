package settings_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/settings"
)

// A kind of settings has a table: a struct of options, or a type that functions return.
type kind struct{ pkg, name, page, heading, column string }

func kinds() []kind {
	return []kind{
		{"runtime", "Options", "options.md", "runtime.Options", "option"},
		{"runtime", "RegisterOption", "options.md", "AddActivity", "option"},
		{"runtime", "ActivitiesOption", "options.md", "AddActivities", "option"},
		{"client", "Options", "options.md", "client.Options", "option"},
		{"client", "StartOption", "options.md", "Starts", "option"},
		{"client", "RaiseOption", "options.md", "Events", "option"},
		{"client", "QueryOption", "options.md", "Queries", "option"},
		{"client", "UpdateOption", "options.md", "Updates", "option"},
		{"client", "WaitOption", "options.md", "Waiting for the end", "option"},
		{"provider/sqlite", "Options", "options.md", "sqlite.Options", "option"},
		{"provider/postgres", "Options", "options.md", "postgres.Options", "option"},
		{"provider/memory", "Options", "options.md", "memory.Options", "option"},
		{"orchestration", "HandlerOption", "options.md", "Handlers", "option"},
		{"orchestration", "ActivityOption", "options.md", "Calls of activities", "option"},
		{"orchestration", "CancellationOption", "options.md", "Calls of activities", "option"},
		{"orchestration", "RetryPolicy", "options.md", "Retry policy", "field"},
		{"orchestration", "ChildOption", "options.md", "Calls of children", "option"},
		{"orchestration", "InstanceOption", "options.md", "Calls of children", "option"},
		{"orchestration", "DetachedOption", "options.md", "Detached starts", "option"},
		{"orchestration", "UpdateOption", "options.md", "Handlers of updates", "option"},
		{"orchestration", "DefineOption", "options.md", "Define", "option"},
		{"orchestration", "ContinueOption", "options.md", "ContinueAsNew", "option"},
		{"client", "MoveOption", "options.md", "Moves", "option"},
		{"client", "OpenOption", "options.md", "Resets and forks", "option"},
		{"client", "ForkOption", "options.md", "Resets and forks", "option"},
		{"client", "ResetOption", "options.md", "Resets", "option"},
		{"client", "RepeatOption", "options.md", "Acts", "option"},
		{"client", "ActOption", "options.md", "Acts", "option"},
		{"client", "RestartOption", "options.md", "Restart", "option"},
		{"client", "DeleteOption", "options.md", "Delete", "option"},
		{"operate", "OrderOption", "options.md", "Orders to nodes", "option"},
		{"client", "FollowOption", "options.md", "Follow", "option"},
		{"client", "ScheduleOption", "options.md", "Schedules", "option"},
		{"client", "TreeLimits", "options.md", "client.TreeLimits", "option"},
		{"operate", "ExportOptions", "options.md", "operate.ExportOptions", "option"},
		{"operate", "ImportOptions", "options.md", "operate.ImportOptions", "option"},
		{"client", "HeaderOption", "options.md", "Headers", "option"},
		{"client", "CancelOption", "options.md", "Headers", "option"},
		{"activity", "RetryPolicy", "options.md", "Retry policy", "field"},
		{"runtime", "ReplayOptions", "options.md", "runtime.ReplayOptions", "option"},
		{"orchestration", "ReceiveOption", "options.md", "Receive and Await", "option"},
		{"orchestration", "SleepOption", "options.md", "Sleep", "option"},
		{"dashboard", "Options", "options.md", "dashboard.Options", "option"},
		{"dashboard", "SessionOptions", "options.md", "dashboard.SessionOptions", "option"},
		{"dashboard", "TrustedHeader", "options.md", "dashboard.TrustedHeader", "option"},
	}
}

// packages are those that users of the engine set something in. Tests of providers have options of their own, in conformance.md.
var packages = []string{"runtime", "client", "operate", "activity", "orchestration", "provider", "provider/sqlite", "provider/postgres", "provider/memory", "dashboard"}

// source is what a package declares that may be a setting.
type source struct {
	types     map[string]ast.Expr // exported
	functions map[string][]string // exported, by the type that they return
}

func parse(t *testing.T, pkg string) source {
	t.Helper()
	s := source{types: map[string]ast.Expr{}, functions: map[string][]string{}}
	paths, err := filepath.Glob(filepath.Join(settings.Root(t), pkg, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("package %s: %d files, %v", pkg, len(paths), err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			s.add(decl)
		}
	}
	return s
}

func (s source) add(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv != nil || !d.Name.IsExported() || d.Type.Results == nil {
			return
		}
		for _, result := range d.Type.Results.List {
			if name, ok := result.Type.(*ast.Ident); ok {
				s.functions[name.Name] = append(s.functions[name.Name], d.Name.Name)
			}
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			if spec, ok := spec.(*ast.TypeSpec); ok && spec.Name.IsExported() {
				s.types[spec.Name.Name] = spec.Type
			}
		}
	}
}

// groupOf returns the type of a field that is a group of options, such as CacheOptions; "" for other fields.
func groupOf(field *ast.Field) string {
	if name, ok := field.Type.(*ast.Ident); ok && strings.HasSuffix(name.Name, "Options") {
		return name.Name
	}
	return ""
}

// groups returns the types of all groups of options.
func (s source) groups() (types []string) {
	for _, is := range s.types {
		if structure, ok := is.(*ast.StructType); ok {
			for _, field := range structure.Fields.List {
				types = append(types, groupOf(field))
			}
		}
	}
	return types
}

// settings returns the names of all settings of a kind.
func (s source) settings(kind string) (names []string) {
	structure, ok := s.types[kind].(*ast.StructType)
	if ok {
		for _, field := range structure.Fields.List {
			for _, name := range field.Names {
				if group := groupOf(field); group != "" {
					for _, of := range s.settings(group) {
						names = append(names, name.Name+"."+of)
					}
				} else if name.IsExported() {
					names = append(names, name.Name)
				}
			}
		}
		return names
	}
	names = append(names, s.functions[kind]...)
	if _, of := s.types["UpdateID"]; of && kind == "UpdateOption" { // each of its options is one of other calls, too
		names = append(names, slices.Concat(s.functions["UpdateID"], s.functions["Acceptance"])...)
	}
	if _, of := s.types["Blockage"]; of && (kind == "UpdateOption" || kind == "WaitOption") { // an option of both
		names = append(names, s.functions["Blockage"]...)
	}
	if kind == "StartOption" { // each option of an event is one of a start
		names = append(names, s.functions["RaiseOption"]...)
	}
	if kind == "ForkOption" { // each of its options is one of a reset, too
		names = append(names, s.functions["OpenOption"]...)
	}
	if kind == "CancelOption" { // each of its options is one of other calls, too
		names = append(names, s.functions["HeaderOption"]...)
	}
	if kind == "ReceiveOption" { // each option of Sleep is one of all waits
		names = append(names, s.functions["SleepOption"]...)
	}
	if kind == "ActOption" { // each of its options is one of all acts
		names = append(names, s.functions["RepeatOption"]...)
	}
	if kind == "ChildOption" { // each option of Define, and of any start, is one of a child
		names = append(names, s.functions["InstanceOption"]...)
	}
	if kind == "InstanceOption" { // they share a table with those of a child
		names = append(names, s.functions["ChildOption"]...)
	}
	if kind == "ActivityOption" { // an option of a child, too
		names = append(names, s.functions["CancellationOption"]...)
	}
	if kind == "CancellationOption" { // they share a table with those of an activity
		names = append(names, s.functions["ActivityOption"]...)
	}
	if kind == "ChildOption" || kind == "InstanceOption" {
		names = append(names, s.functions["DefineOption"]...)
	}
	return names
}

// Each setting has a row in the table of its kind, and each row is a setting.
func TestEverySettingHasARow(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		rows := settings.Table(t, k.page, k.heading, k.column)
		names := parse(t, k.pkg).settings(k.name)
		if len(names) == 0 {
			t.Errorf("%s.%s has no settings", k.pkg, k.name)
		}
		for _, name := range names {
			if row := rows[name]; row["what it is"] == "" {
				t.Errorf("%s, table %q: no row says what `%s` of package %s is", k.page, k.heading, name, k.pkg)
			}
		}
		for name := range maps.Keys(rows) {
			if !slices.Contains(names, name) {
				t.Errorf("%s, table %q: package %s has no `%s`", k.page, k.heading, k.pkg, name)
			}
		}
	}
}

// Each kind of settings has a table.
func TestEveryKindOfSettingsHasATable(t *testing.T) {
	t.Parallel()
	for _, pkg := range packages {
		s := parse(t, pkg)
		groups := s.groups()
		for name, is := range s.types {
			_, values := is.(*ast.Ident) // an enumeration
			known := slices.ContainsFunc(kinds(), func(k kind) bool { return k.pkg == pkg && k.name == name })
			if !values && !known && isSettings(name) && !slices.Contains(groups, name) {
				t.Errorf("%s.%s has no table in docs/reference: add one, and name it here", pkg, name)
			}
		}
	}
}

func isSettings(name string) bool {
	for _, end := range []string{"Option", "Options", "Policy", "Settings", "Limits"} {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}
