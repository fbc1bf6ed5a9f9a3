package perdure_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/perdure/perdure/"

// listDeps returns all packages that a package needs to build, including itself.
func listDeps(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg).Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v", pkg, err)
	}
	return strings.Fields(string(out))
}

// A package may import only packages below it.
func TestDependenciesRunDownwards(t *testing.T) {
	t.Parallel()
	// From top to bottom: a package may import those after it.
	house := []string{
		"cmd/perdure", "runtime", "dispatcher", "operate", "client", "orchestration", "activity",
		"internal/bind", "internal/observing", "internal/engine", "internal/replay", "internal/failure", "internal/history", "internal/payload", "internal/funcname", "internal/check", "provider", "observe",
	}
	for i, pkg := range house {
		for _, dep := range listDeps(t, "./"+pkg) {
			name, ours := strings.CutPrefix(dep, module)
			if above := slices.Index(house[:i], name); ours && above >= 0 {
				t.Errorf("%s needs %s, which stands above it", pkg, name)
			}
		}
	}
}

// What a turn stores depends on values only: package engine imports nothing by which it could read a clock, draw a random number, log, wait or
// call a store.
func TestEngineIsPure(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", `{{join .Imports " "}}`, "./internal/engine").Output()
	if err != nil {
		t.Fatal(err)
	}
	allowed := []string{
		"cmp", "fmt", "maps", "math", "slices", "strings", "time", module + "internal/failure", module + "internal/history", module + "internal/replay", module + "provider",
	}
	for name := range strings.FieldsSeq(string(out)) {
		if !slices.Contains(allowed, name) {
			t.Errorf("internal/engine imports %s", name)
		}
	}
	clock := regexp.MustCompile(`time\.(Now|Since|Until|After|AfterFunc|NewTimer|NewTicker|Tick|Sleep)\b|provider\.Provider\b`)
	files, err := filepath.Glob("internal/engine/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for _, path := range files {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if found := clock.Find(source); found != nil && !strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s has %s", path, found)
		}
	}
}

// Users link only what they import. The engine links no driver and no library of the binary, and package provider only
// the standard library.
func TestLinkedModules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg       string
		forbidden []string
	}{
		{"provider", []string{"."}},
		{"observe", []string{"."}},
		// Run plays sequences of the model, which is memory and rapid. It links nothing else.
		{"provider/validations", []string{"sqlite", "pgx", "cobra", "zerolog", "go-cmp", "goleak", module + "internal/", module + "dispatcher"}},
		{"provider/validations/engine", []string{
			"sqlite", "pgx", "cobra", "zerolog", "go-cmp", "goleak", "rapid", module + "internal/testkit/enginetest", module + "internal/testkit/leaktest", module + "internal/testkit/postgrestest",
		}},
		{"provider/sqlite", []string{"pgx", "cobra", "zerolog", module + "internal/replay", module + "dispatcher"}},
		{"runtime", []string{"sqlite", "pgx", "cobra", "zerolog"}},
		{"client", []string{"sqlite", "pgx", "cobra", "zerolog", module + "runtime", module + "dispatcher"}},
		{"operate", []string{"sqlite", "pgx", "cobra", "zerolog", module + "runtime", module + "dispatcher"}},
		{"orchestration", []string{"sqlite", "pgx", "cobra", "zerolog"}},
		{"activity", []string{"sqlite", "pgx", "cobra", "zerolog"}},
	} {
		for _, dep := range listDeps(t, "./"+c.pkg) {
			first, _, _ := strings.Cut(dep, "/")
			if dep == module+c.pkg || dep == module+"provider" || !strings.Contains(first, ".") {
				continue // itself, the contract, the standard library
			}
			for _, f := range c.forbidden {
				if strings.Contains(dep, f) {
					t.Errorf("%s links %s, which must not hang on it", c.pkg, dep)
				}
			}
		}
	}
}
