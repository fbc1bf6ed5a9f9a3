package mutation

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

var (
	run      = flag.Bool("mutants", false, "build and test every mutant: minutes")
	pattern  = flag.String("mutants.match", "", "run only the mutants whose folder and name match this regular expression")
	sample   = flag.Int("mutants.sample", 3, "how many mutants, drawn at random, a run without -mutants tests")
	parallel = flag.Int("mutants.parallel", 1, "how many tests run at once")
	seed     = flag.Int64("mutants.seed", 0, "draw the sample by this number; 0: by the time")
)

const root = "../../.."

// all reads the mutants of the module.
func all(t *testing.T) []Mutant {
	t.Helper()
	var mutants []Mutant
	err := fs.WalkDir(os.DirFS("testdata"), ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".mutant" {
			return err
		}
		text, err := os.ReadFile(filepath.Join("testdata", filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		m, err := Parse(strings.TrimSuffix(name, ".mutant"), string(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return nil
		}
		folder, base := path.Split(m.Name)
		if base != m.Test && !strings.HasPrefix(base, m.Test+".") {
			t.Errorf("%s: it is for %s and must be named after it", name, m.Test)
		}
		if broken := m.Changes[0].Package; path.Clean(folder) != broken {
			t.Errorf("%s: it breaks package %s and must be in that folder", name, broken)
		}
		mutants = append(mutants, m)
		return nil
	})
	if err != nil || len(mutants) == 0 {
		t.Fatalf("%d mutants, %v", len(mutants), err)
	}
	return mutants
}

// A change that fits nowhere, or twice, breaks nothing or something else.
func TestMutantsFitTheCode(t *testing.T) {
	module := &Module{Root: root}
	for _, m := range all(t) {
		if _, err := module.Broken(m.Changes); err != nil {
			t.Errorf("%s: %v", m.Name, err)
		}
		if !strings.Contains(tests(t, m.Package), "func "+m.Test+"(") {
			t.Errorf("%s: package %s has no test %s", m.Name, m.Package, m.Test)
		}
	}
}

// tests returns the sources of a package's tests.
func tests(t *testing.T, pkg string) string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources.Write(source)
	}
	return sources.String()
}

func TestEveryRuleHasAMutant(t *testing.T) {
	covered := make(map[string]bool)
	for _, m := range all(t) {
		covered[m.Test] = true
	}
	rule := regexp.MustCompile(`(?m)^func (Test(?:Hazard|Weakness)\d+_\w+)\(`)
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, found := range rule.FindAllStringSubmatch(string(source), -1) {
			if !covered[found[1]] {
				t.Errorf("%s in %s has no mutant that shows that it can fail", found[1], path)
			}
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestMutantsAreCaught runs each mutant's test on the broken code, after all of these tests on the whole code: a test that fails there,
// for example because it counts what the switch costs, gets a build of its own for each of its mutants.
func TestMutantsAreCaught(t *testing.T) {
	if !*run {
		t.Skip("slow: run it by `make mutants`")
	}
	match := regexp.MustCompile(*pattern)
	mutants := slices.DeleteFunc(all(t), func(m Mutant) bool { return !match.MatchString(m.Name) })
	p := newPlayer(t, mutants)
	byPackage := make(map[string][]int)
	for i, m := range mutants {
		byPackage[m.Package] = append(byPackage[m.Package], i)
	}
	for _, pkg := range slices.Sorted(maps.Keys(byPackage)) {
		p.control(pkg)
		var group errgroup.Group
		group.SetLimit(*parallel)
		for _, i := range byPackage[pkg] {
			group.Go(func() error {
				demandCaught(t, mutants[i], 3, t.Errorf, func() (string, error) { return p.play(i) })
				return nil
			})
		}
		_ = group.Wait() // its functions return no errors
	}
}

// TestSampleOfMutantsIsCaught runs a few mutants drawn at random, so that every run of the tests proves some of them. A
// break that shows only in some schedules must fail one of three runs. Instead of a mutant whose test takes too long on a busy machine, it
// draws another one.
func TestSampleOfMutantsIsCaught(t *testing.T) {
	if testing.Short() || *run {
		t.Skip("slow")
	}
	drawn := *seed
	if drawn == 0 {
		drawn = time.Now().UnixNano()
	}
	t.Logf("seed %d: repeat with -mutants.seed %d", drawn, drawn)
	mutants := all(t)
	random := rand.New(rand.NewPCG(uint64(drawn), 0))
	random.Shuffle(len(mutants), func(i, j int) { mutants[i], mutants[j] = mutants[j], mutants[i] })
	mutants = mutants[:min(2**sample, len(mutants))]
	p, ended := newPlayer(t, mutants), 0
	for i, m := range mutants {
		if ended == *sample {
			break
		}
		p.control(m.Package)
		if demandCaught(t, m, 3, t.Logf, func() (string, error) { return p.play(i) }) {
			ended++
		}
	}
	if ended < *sample {
		t.Errorf("%d mutants were tried to the end, want %d", ended, *sample)
	}
}

// demandCaught fails t unless one of the runs of the mutant's test fails. If a run does not end in time, demandCaught says so by late and
// returns false.
func demandCaught(t *testing.T, m Mutant, runs int, late func(format string, args ...any), play func() (string, error)) (ended bool) {
	t.Helper()
	began := time.Now()
	for try := 1; ; try++ {
		output, err := play()
		switch {
		case err == nil && try < runs:
			t.Logf("%s survived run %d of %d", m.Name, try, runs)
			continue
		case err == nil:
			t.Errorf("SURVIVED %s: %s", m.Name, m.Broken)
		case !failedBy(m.Test, output) && strings.Contains(output, "panic: test timed out"):
			late("LATE %s: the test did not end in time\n%s", m.Name, tail(output))
			return false
		case !failedBy(m.Test, output):
			t.Errorf("UNCLEAR %s: the test did not fail by itself: %v\n%s", m.Name, err, tail(output))
		default:
			t.Logf("caught %s in %.1fs: %s", m.Name, time.Since(began).Seconds(), m.Broken)
		}
		return true
	}
}

// failedBy reports whether a test failed by an assertion or took its process down. Code that did not build or hung is neither.
func failedBy(test, output string) bool {
	crashed := strings.Contains("\n"+output, "\npanic: ") || strings.Contains(output, "fatal error: ")
	return strings.Contains(output, "--- FAIL: "+test) ||
		crashed && strings.Contains(output, test) && !strings.Contains(output, "panic: test timed out")
}

// tail returns the end of a command's output.
func tail(output string) string {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}

func TestParseRefuses(t *testing.T) {
	const good = "# broken\ntest: ./p TestX\nin: p T.f\nimports: time\n--- old\na\n--- new\nb\n--- end\n"
	m, err := Parse("TestX", good)
	if err != nil || m.Broken != "broken" || m.Package != "./p" || m.Test != "TestX" || len(m.Changes) != 1 {
		t.Fatalf("%+v, %v", m, err)
	}
	if got, want := fmt.Sprint(m.Changes[0]), fmt.Sprint(Change{Package: "p", Func: "T.f", Imports: []string{"time"}, Old: "a", New: "b"}); got != want {
		t.Errorf("read %s, want %s", got, want)
	}
	for _, line := range []string{"# broken\n", "test: ./p TestX\n", "in: p T.f\nimports: time\n", "--- old\n", "--- new\n", "--- end\n"} {
		if _, err := Parse("TestX", strings.Replace(good, line, "", 1)); err == nil {
			t.Errorf("read without %q", line)
		}
	}
}

// The old text is found by its tokens, in the function that the change names or in the package.
func TestChangesAreFound(t *testing.T) {
	const source = "package p\n\n// f returns two.\nfunc f() int {\n\treturn 1 + // one\n\t\t1\n}\n\n" +
		"type T[A any] struct{}\n\nfunc (t *T[A]) f() int { return 1 + 1 + 1 }\n\nconst query = `SELECT a FROM b`\n"
	module := &Module{Root: t.TempDir()}
	for name, text := range map[string]string{
		"p.go": source, "q.go": "package p\n\nvar q = 7\n", "p_test.go": "package p\n\nvar _ = 7\n",
		"other.go": "//go:build !" + runtime.GOOS + "\n\npackage p\n\nfunc f() int { return 1 + 1 }\n",
	} {
		if err := os.MkdirAll(filepath.Join(module.Root, "p"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(module.Root, "p", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ fn, old, new, want string }{
		{fn: "f", old: "return  1+1", new: "return 3", want: strings.Replace(source, "return 1 + // one\n\t\t1", "return 3", 1)},
		{fn: "f", old: "func f() int { // any\n return", new: "func f() int { _ =", want: strings.Replace(source, "{\n\treturn", "{ _ =", 1)},
		{fn: "T.f", old: "return 1", new: "return 2", want: strings.Replace(source, "return 1 + 1 + 1", "return 2 + 1 + 1", 1)},
		{old: "SELECT a", new: "SELECT c", want: strings.Replace(source, "SELECT a", "SELECT c", 1)},
		{fn: "f", old: "// f returns two.", new: "var _ = f()", want: strings.Replace(source, "// f returns two.", "var _ = f()", 1)},
	} {
		got, err := module.Broken([]Change{{Package: "p", Func: c.fn, Old: c.old, New: c.new}})
		if err != nil || len(got) != 1 {
			t.Errorf("%q: %d files, %v", c.old, len(got), err)
		} else if squeeze(got["p/p.go"]) != squeeze(c.want) {
			t.Errorf("%q became\n%s, want\n%s", c.old, got["p/p.go"], c.want)
		}
	}
	for _, c := range []Change{
		{Func: "f", Old: "1"}, {Old: "return 1 + 1"}, {Func: "f", Old: "missing"}, {Func: "T.f", Old: "SELECT a"}, {Func: "g", Old: "1"}, {Func: "T.g", Old: "1"},
	} {
		c.Package, c.New = "p", "x"
		if got, err := module.Broken([]Change{c}); err == nil {
			t.Errorf("%+v: applied where it does not stand once: %s", c, got)
		}
	}
	got, err := module.Broken([]Change{{Package: "p", Imports: []string{"time"}, Old: "7", New: "time.Now()"}})
	if want := "package p; import \"time\"\n\nvar q = time.Now()\n"; err != nil || got["p/q.go"] != want {
		t.Errorf("with an import: %v, %v, want %s", got, err, want)
	}
	if got, err := module.Broken([]Change{{Package: "p", Old: "7", New: "8"}, {Package: "p", Func: "f", Old: "1 + 1", New: "3"}}); err != nil || len(got) != 2 {
		t.Errorf("two changes: %d files, %v", len(got), err)
	}
	if _, err := module.Broken([]Change{{Package: "p", Func: "f", Old: "1 + 1", New: "3"}, {Package: "p", Func: "f", Old: "return 1", New: "4"}}); err == nil {
		t.Error("two changes of the same text are applied")
	}
}

// squeeze returns text without white space.
func squeeze(text string) string { return strings.Join(strings.Fields(text), "") }
