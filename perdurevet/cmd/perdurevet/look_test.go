package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// inShop changes to the module of testdata.
func inShop(t *testing.T) {
	t.Helper()
	t.Chdir(filepath.Join("..", "..", "testdata", "shop"))
	t.Setenv("GOWORK", "off")
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
}

// finding begins a comment of testdata that expects a finding. What follows is a regular expression; a fact has a name there.
var finding = regexp.MustCompile("// want [`\"]")

// expected returns the packages of testdata in which a finding is expected, by their import paths. In files of tests, only examples count.
func expected(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range files {
		folder, file := filepath.Split(name)
		if strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(file, "example") {
			continue
		}
		text, err := os.ReadFile(filepath.Clean(name))
		if err != nil {
			t.Fatal(err)
		}
		if finding.Match(text) {
			found = append(found, "example.com/shop/"+filepath.Clean(folder))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// What remains for go vet are the packages that have findings, and no others: TestRules shows that the comments name them all. A cause may stand
// in a package that does not import perdure, and a finding in an example that needs other tests.
func TestRemaining(t *testing.T) {
	flag := "-perdurevet.tests=false"
	inShop(t)
	want := expected(t)
	for _, path := range []string{"process", "quiet", "documented", "shared", "intests", "aliased"} {
		if !slices.Contains(want, "example.com/shop/"+path) {
			t.Errorf("no finding of %s is expected, but of %v", path, want)
		}
	}
	got := remaining([]string{flag, "./..."})
	if len(got) == 0 || got[0] != flag {
		t.Fatalf("it remains to vet %v, want %s first", got, flag)
	}
	for _, path := range want {
		t.Run(path, func(t *testing.T) { //nolint:paralleltest // the folder belongs to the process
			if !slices.Contains(got, path) {
				t.Errorf("not in what remains to vet, %v", got)
			}
		})
	}
	for _, path := range got[1:] {
		t.Run(path, func(t *testing.T) { //nolint:paralleltest // the folder belongs to the process
			if !slices.Contains(want, path) {
				t.Errorf("remains to vet, and %v have findings", want)
			}
		})
	}
}

func TestRemainingOfArguments(t *testing.T) {
	inShop(t)
	const tests, skip = "-perdurevet.tests=false", "-perdurevet.skip=future"
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"clean", []string{tests, "./helper"}, nil},
		{"several", []string{tests, "./helper", "./futures", "./late"}, []string{tests, "example.com/shop/futures", "example.com/shop/late"}},
		{"a rule left out", []string{tests, skip, "./futures", "./helper"}, nil},
		{"another rule left out", []string{skip, tests, "./late"}, []string{skip, tests, "example.com/shop/late"}},
		{"with tests", []string{"./helper"}, []string{"./helper"}},
		{"a flag of go vet", []string{tests, "-json", "./helper"}, []string{tests, "-json", "./helper"}},
		{"an unknown rule", []string{tests, "-perdurevet.skip=futures", "./helper"}, []string{tests, "-perdurevet.skip=futures", "./helper"}},
		{"an import of examples that is not listed", []string{tests, "./aliased"}, []string{tests, "example.com/shop/aliased"}},
		{"no package", []string{tests, "./absent/..."}, []string{tests, "./absent/..."}},
		{"another module", []string{tests, "time"}, []string{tests, "time"}},
	} {
		t.Run(c.name, func(t *testing.T) { //nolint:paralleltest // the folder belongs to the process
			if got := remaining(c.args); !slices.Equal(got, c.want) || (got == nil) != (c.want == nil) {
				t.Errorf("it remains to vet %q, want %q", got, c.want)
			}
		})
	}
}
