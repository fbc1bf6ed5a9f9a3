package perdure_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/perdure/perdure/"

// listDeps answers all packages that a package needs to build, itself included.
func listDeps(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg).Output()
	if err != nil {
		t.Fatalf("go list -deps %s: %v", pkg, err)
	}
	return strings.Fields(string(out))
}

// A package of the house may need only what stands below it.
func TestDependenciesRunDownwards(t *testing.T) {
	t.Parallel()
	// From top to bottom; an entry may need those after it.
	house := []string{
		"cmd/perdure", "runtime", "dispatcher", "client", "orchestration", "activity",
		"internal/bind", "internal/replay", "internal/failure", "internal/history", "internal/payload", "internal/funcname", "internal/check", "provider",
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

// Users link only what they import: no driver and no library of the binary hangs on the
// engine, and the contract needs the standard library alone.
func TestLinkedModules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg       string
		forbidden []string
	}{
		{"provider", []string{"."}},
		{"provider/validations", []string{"."}},
		{"provider/validations/engine", []string{
			"sqlite", "pgx", "cobra", "zerolog", "go-cmp", "goleak", "rapid", module + "internal/testkit/enginetest", module + "internal/testkit/leaktest", module + "internal/testkit/postgrestest",
		}},
		{"provider/sqlite", []string{"pgx", "cobra", "zerolog", module + "internal/replay", module + "dispatcher"}},
		{"runtime", []string{"sqlite", "pgx", "cobra", "zerolog"}},
		{"client", []string{"sqlite", "pgx", "cobra", "zerolog", module + "runtime", module + "dispatcher"}},
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
