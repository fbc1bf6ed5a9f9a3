package mutation

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// One build has all mutants, and the environment chooses one.
func TestSwitched(t *testing.T) {
	const source = `package main

import "fmt"

type list[T any] []T

// plain adds.
func plain(a, b int) int { return a + b }

func (l list[T]) first(_ int, more ...T) (out T) {
	if len(l) > 0 {
		return l[0]
	}
	return more[0]
}

func (*empty) print(string) { fmt.Print("whole") }

type empty struct{}

func both[A, B any](a A, b B) string { return fmt.Sprint(a, b) }

const outside = 7

func main() { fmt.Print(plain(1, 2), list[int]{}.first(0, 5, 6), both(outside, "x")); (*empty)(nil).print("") }
`
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n", "p/p.go": source} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	change := func(changes ...string) Mutant {
		var m Mutant
		for i := 0; i < len(changes); i += 3 {
			m.Changes = append(m.Changes, Change{Package: "p", Func: changes[i], Old: changes[i+1], New: changes[i+2]})
		}
		return m
	}
	strings1 := change("plain", "a + b", `len(strings.Repeat("x", a-b+9))`)
	strings1.Changes[0].Imports = []string{"strings"}
	mutants := []Mutant{
		change("plain", "a + b", "a - b"),
		change("list.first", "more[0]", "more[1]"),
		change("empty.print", `"whole"`, `"broken"`),
		change("both", "a, b", "b, a", "plain", "return a + b", "return 9"),
		strings1,
		change("", "outside = 7", "outside = 8"),
		change("plain", "a, b int", "b, a int"),
		change("main", "plain(1, 2)", "0"),
	}
	sources, left, err := (&Module{Root: dir}).Switched(mutants)
	if err != nil || len(left) != 3 || left[6] == nil || left[7] == nil || left[8] == nil {
		t.Fatalf("left out %v, %v", left, err)
	}
	before := func(text string) int {
		text, _, _ = strings.Cut(text, "func main")
		return strings.Count(text, "\n")
	}
	if got, want := before(sources["p/p.go"]), before(source); got != want {
		t.Errorf("main stands in line %d, want %d", got, want)
	}
	for name, text := range sources {
		if err := os.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "m.exe")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./p")
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, output, sources["p/p.go"])
	}
	for number, want := range []string{"3 57xwhole", "-1 57xwhole", "3 67xwhole", "3 57xbroken", "9 5x7whole", "8 57xwhole"} {
		cmd := exec.CommandContext(t.Context(), binary)
		cmd.Env = append(os.Environ(), Variable+"="+strconv.Itoa(number))
		if output, err := cmd.CombinedOutput(); err != nil || string(output) != want {
			t.Errorf("mutant %d prints %q, want %q, %v", number, output, want, err)
		}
	}
}
