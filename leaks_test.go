package perdure_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// Every package with tests checks for leaks.
func TestEveryPackageLooksForLeaks(t *testing.T) {
	t.Parallel()
	for _, module := range []string{".", "bench"} {
		cmd := exec.CommandContext(t.Context(), "go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.Dir}}{{end}}", "./...")
		cmd.Dir = module
		out, err := cmd.Output()
		if err != nil || len(out) == 0 {
			t.Fatalf("go list in %s: %q, %v", module, out, err)
		}
		for dir := range strings.FieldsSeq(string(out)) {
			if !looksForLeaks(t, dir) {
				t.Errorf("%s: no TestMain calls leaktest.Main", dir)
			}
		}
	}
}

func looksForLeaks(t *testing.T, dir string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, body, found := strings.Cut(string(source), "func TestMain(m *testing.M) {")
		body, _, _ = strings.Cut(body, "\n}")
		if found && (strings.Contains(body, "leaktest.Main(m") || strings.Contains(body, " Main(m)")) {
			return true
		}
	}
	return false
}
