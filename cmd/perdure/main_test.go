package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/perdure/perdure/internal/leaktest"
	"github.com/perdure/perdure/internal/postgrestest"
)

// built is the real binary, built once and only if a test needs it.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	leaktest.Main(m, func() {
		postgrestest.Stop()
		if built.dir != "" {
			_ = os.RemoveAll(built.dir)
		}
	})
}

func binary(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		//nolint:usetesting // it outlives the test that happens to be first
		if built.dir, built.err = os.MkdirTemp("", "perdure-test-"); built.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(built.dir, "perdure"), ".").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("go build: %w\n%s", err, out)
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return filepath.Join(built.dir, "perdure")
}
