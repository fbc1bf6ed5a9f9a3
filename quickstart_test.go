package perdure_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
)

// readmeProgram returns the first Go block of the README, which is the quick start.
func readmeProgram(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "```go\n")
	program, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatal("README.md has no Go block")
	}
	return program
}

func TestQuickStartIsTheExample(t *testing.T) {
	t.Parallel()
	program := readmeProgram(t)
	example, err := os.ReadFile("examples/quickstart/main.go")
	if err != nil {
		t.Fatal(err)
	}
	if program != string(example) {
		t.Error("the quick start in README.md differs from examples/quickstart/main.go: make them equal")
	}
	if lines := strings.Count(program, "\n"); lines > 40 {
		t.Errorf("the quick start has %d lines, it must have at most 40", lines)
	}
}

// The quick start builds and runs in a user's module, outside of this repository.
func TestQuickStartOutsideTheRepository(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	repo, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	// The user's module has our requirements and replaces perdure with this checkout.
	_, requirements, _ := strings.Cut(string(own), "\n")
	write("go.mod", "module example.com/shop\n"+requirements+
		"\nrequire github.com/perdure/perdure v0.0.0\n\nreplace github.com/perdure/perdure => "+repo+"\n")
	write("go.sum", string(sums))
	write("main.go", readmeProgram(t))
	if got, want := run("run", "-mod=mod", "."), "order 42 is paid <nil>\n"; got != want {
		t.Errorf("the quick start printed %q, want %q", got, want)
	}
}
