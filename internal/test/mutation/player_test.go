package mutation

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// player runs the tests of mutants on the broken code. One build of a package's tests has all mutants in it, and a variable of the
// environment turns one on. A mutant that cannot be turned on has a build of its own.
type player struct {
	t       *testing.T
	mutants []Mutant
	shared  string       // the overlay with all mutants
	alone   map[int]bool // mutants with a build of their own, by index; changes only between runs

	mu       sync.Mutex
	binaries map[string]string // by overlay and package
}

func newPlayer(t *testing.T, mutants []Mutant) *player {
	t.Helper()
	sources, left, err := (&Module{Root: root}).Switched(mutants)
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, mutants: mutants, shared: writeOverlay(t, t.TempDir(), sources), alone: make(map[int]bool), binaries: make(map[string]string)}
	for number, why := range left {
		t.Logf("%s has a build of its own: %v", mutants[number-1].Name, why)
		p.alone[number-1] = true
	}
	return p
}

// play runs the test of mutants[i] and returns what it printed. An error means that it failed.
func (p *player) play(i int) (string, error) {
	m := p.mutants[i]
	if !p.alone[i] {
		return p.run(p.shared, m.Package, "^"+m.Test+"$", i+1)
	}
	broken, err := (&Module{Root: root}).Broken(m.Changes)
	if err != nil {
		return err.Error(), err
	}
	return p.run(writeOverlay(p.t, p.t.TempDir(), broken), m.Package, "^"+m.Test+"$", 0)
}

// control runs all tests of a package's mutants on the whole code. The mutants of a test that fails get builds of their own.
func (p *player) control(pkg string) {
	var names []string
	for i, m := range p.mutants {
		if m.Package == pkg && !p.alone[i] && !slices.Contains(names, m.Test) {
			names = append(names, m.Test)
		}
	}
	if len(names) == 0 {
		return
	}
	output, err := p.run(p.shared, pkg, "^("+strings.Join(names, "|")+")$", 0)
	if err == nil {
		return
	}
	p.t.Logf("on the whole code, tests of %s fail beside the switch: %v\n%s", pkg, err, tail(output))
	for i, m := range p.mutants {
		passed := strings.Contains(output, "\n--- PASS: "+m.Test+" (") || strings.Contains(output, "\n--- SKIP: "+m.Test+" (")
		if m.Package == pkg && !passed {
			p.alone[i] = true
		}
	}
}

// run runs tests of a package under an overlay, with the mutant of that number turned on, and returns what they printed.
func (p *player) run(overlay, pkg, pattern string, number int) (string, error) {
	binary, output, err := p.binary(overlay, pkg)
	if err != nil {
		return output, err
	}
	// With -v a subtest shows its failure at once, even if another one hangs until the timeout.
	args := []string{"-test.v", "-test.paniconexit0", "-test.run=" + pattern, "-test.timeout=30m"}
	if number > 0 || overlay != p.shared {
		args = []string{"-test.v", "-test.paniconexit0", "-test.run=" + pattern, "-test.timeout=4m", "-test.failfast"}
	}
	// Broken code may allocate without end. It must fail by itself before the machine stops it.
	cmd := exec.CommandContext(p.t.Context(), "sh", append([]string{"-c", `ulimit -v 8388608; exec "$0" "$@"`, binary}, args...)...)
	cmd.Dir = filepath.Join(root, pkg)
	// The environment also reaches tests that build a binary of their own, so that they build the broken one.
	cmd.Env = append(os.Environ(), "GOFLAGS="+flags(overlay), Variable+"="+strconv.Itoa(number))
	printed, err := cmd.CombinedOutput()
	return string(printed), err
}

// binary returns the path of the built tests of a package under an overlay, or what the toolchain printed.
func (p *player) binary(overlay, pkg string) (binary, output string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := overlay + " " + pkg
	if binary, ok := p.binaries[key]; ok {
		return binary, "", nil
	}
	binary = filepath.Join(p.t.TempDir(), regexp.MustCompile(`\W+`).ReplaceAllString(pkg, "_")+".test")
	module, inside := moduleOf(pkg)
	cmd := exec.CommandContext(p.t.Context(), "go", "test", "-c", "-o", binary, inside)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOFLAGS="+flags(overlay))
	if printed, err := cmd.CombinedOutput(); err != nil {
		return "", string(printed), fmt.Errorf("building the tests of %s: %w", pkg, err)
	}
	if overlay == p.shared {
		p.binaries[key] = binary
	}
	return binary, "", nil
}

// moduleOf returns the folder of the module that a package belongs to, and the package relative to it. The go command builds a package
// only in its own module.
func moduleOf(pkg string) (module, inside string) {
	pkg = path.Clean(pkg)
	folder := pkg
	for folder != "." {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(folder), "go.mod")); err == nil {
			break
		}
		folder = path.Dir(folder)
	}
	return filepath.Join(root, filepath.FromSlash(folder)), "./" + strings.TrimPrefix(strings.TrimPrefix(pkg, folder), "/")
}

// flags returns the flags of the toolchain with an overlay.
func flags(overlay string) string {
	return strings.TrimSpace(os.Getenv("GOFLAGS") + " -overlay=" + overlay)
}

// writeOverlay writes files that the toolchain shall read in place of those of the module, and returns the path of their list.
func writeOverlay(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	var entries []string
	for path, source := range files {
		replaced, err := filepath.Abs(filepath.Join(root, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(dir, fmt.Sprintf("%d.go", len(entries)))
		if err := os.WriteFile(copied, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		entries = append(entries, fmt.Sprintf("%q: %q", replaced, copied))
	}
	list := filepath.Join(dir, "overlay.json")
	text := `{"Replace": {` + strings.Join(entries, ", ") + `}}`
	if err := os.WriteFile(list, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return list
}
