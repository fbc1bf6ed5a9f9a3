package main_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A package has its findings although go vet has looked at it before, for one that imports it.
func TestNamedAfterItsImporter(t *testing.T) {
	t.Parallel()
	tool := build(t)
	for _, c := range []struct{ named, want string }{
		{"./importer", "importer/bad.go:12:2: the future of "},
		{"./futures", "futures/bad.go:18:2: the future of "},
		{"./importer", "importer/bad.go:12:2: the future of "},
	} {
		for _, flags := range [][]string{nil, {"-perdurevet.tests=false"}} {
			if out, code := run(t, tool, append(flags, c.named)...); code != 1 || !strings.Contains(out, c.want) {
				t.Errorf("%v %s: exit code %d and no %q in\n%s", flags, c.named, code, c.want, out)
			}
		}
	}
}

// build builds the command and returns its path.
func build(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "perdurevet.exe")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// run runs a command in the module of testdata, and returns what it prints and its exit code.
func run(t *testing.T, name string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = filepath.Join("..", "..", "testdata", "shop")
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=mod")
	data, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(data), exit.ExitCode()
	} else if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return string(data), 0
}

func TestCommand(t *testing.T) {
	t.Parallel()
	tool := build(t)
	for _, c := range []struct {
		name    string
		command []string
		code    int
		has     []string
		hasNot  []string
	}{
		{
			"go vet",
			[]string{"go", "vet", "-vettool=" + tool, "./futures"},
			1,
			[]string{"bad.go:18:2: the future of orchestration.StartActivity is dropped: "},
			[]string{"maporder"},
		},
		{"by itself", []string{tool, "./futures"}, 1, []string{"bad.go:18:2: the future of orchestration.StartActivity is dropped: "}, nil},
		{
			"facts of another package",
			[]string{tool, "./process"},
			1,
			[]string{"orchestration code calls helper.Stamp, which uses time.Now (helper.go:"},
			[]string{"calls other.Stamp"},
		},
		{"clean", []string{tool, "./helper"}, 0, nil, []string{"helper.go"}},
		{"a rule left out", []string{tool, "-perdurevet.skip=future", "./futures"}, 0, nil, []string{"bad.go"}},
		{"an unknown rule", []string{tool, "-perdurevet.skip=futures", "./futures"}, 1, []string{`no rule is named "futures": give some of clock, `}, nil},
		{"help", []string{tool, "help"}, 0, []string{"perdurevet", "check orchestration code of perdure"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			out, code := run(t, c.command[0], c.command[1:]...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			for _, want := range c.has {
				if !strings.Contains(out, want) {
					t.Errorf("the output has no %q", want)
				}
			}
			for _, unwanted := range c.hasNot {
				if strings.Contains(out, unwanted) {
					t.Errorf("the output has %q", unwanted)
				}
			}
			if t.Failed() {
				t.Logf("output:\n%s", out)
			}
		})
	}
}
