package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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

// positions are the places of findings: folder/file.go:line:column.
var positions = regexp.MustCompile(`(\w+)/\w+\.go:\d+:\d+: `)

// vetted returns the packages of which go vet has findings, by their import paths.
func vetted(t *testing.T, flags ...string) []string {
	t.Helper()
	tool := filepath.Join(t.TempDir(), "perdurevet.exe")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	inShop(t)
	cmd := exec.CommandContext(t.Context(), "go", slices.Concat([]string{"vet", "-vettool=" + tool}, flags, []string{"./..."})...)
	out, err := cmd.CombinedOutput()
	if _, ok := errors.AsType[*exec.ExitError](err); !ok {
		t.Fatalf("go vet: %v\n%s", err, out)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("go vet printed:\n%s", out)
		}
	})
	var found []string
	for _, at := range positions.FindAllSubmatch(out, -1) {
		found = append(found, "example.com/shop/"+string(at[1]))
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// What remains for go vet are the packages of which go vet has findings, and no others. A cause may stand in a package that does not import
// perdure, and a finding in an example that needs other tests.
func TestRemaining(t *testing.T) {
	flag := "-perdurevet.tests=false"
	want := vetted(t, flag)
	for _, path := range []string{"process", "quiet", "documented", "shared", "intests", "aliased"} {
		if !slices.Contains(want, "example.com/shop/"+path) {
			t.Errorf("go vet has no finding of %s, but of %v", path, want)
		}
	}
	if got := remaining([]string{flag, "./..."}); !slices.Equal(got, slices.Concat([]string{flag}, want)) {
		t.Errorf("it remains to vet\n%v, want\n%v", got, want)
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
