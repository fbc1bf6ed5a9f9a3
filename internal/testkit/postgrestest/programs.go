package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// errMissing tells a developer how to get a server.
var errMissing = errors.New("no Postgres: set PERDURE_TEST_POSTGRES_URL to a server's URL, " +
	"or install the Postgres programs (Debian: apt-get install postgresql, macOS: brew install postgresql); " +
	"with PERDURE_TEST_INSTALL=1 the tests do it themselves on Debian as root")

// programs returns the folder of initdb and postgres, and installs them where that is requested.
func programs() (string, error) {
	if dir := os.Getenv("PERDURE_TEST_POSTGRES_PROGRAMS"); dir != "" {
		return dir, nil
	}
	if dir := installed(); dir != "" {
		return dir, nil
	}
	if !mayInstall() {
		return "", errMissing
	}
	if err := install("postgresql"); err != nil {
		return "", fmt.Errorf("%w; installing failed: %w", errMissing, err)
	}
	if dir := installed(); dir != "" {
		return dir, nil
	}
	return "", errMissing
}

// errNoPooler tells a developer how to get PgBouncer.
var errNoPooler = errors.New("no PgBouncer: install it (Debian: apt-get install pgbouncer); " +
	"with PERDURE_TEST_INSTALL=1 the tests do it themselves on Debian as root")

// pgbouncer returns the program of PgBouncer, and installs it where that is requested.
func pgbouncer() (string, error) {
	find := func() string {
		if program, err := exec.LookPath("pgbouncer"); err == nil {
			return program
		}
		if program := "/usr/sbin/pgbouncer"; exists(program) { // not on every PATH
			return program
		}
		return ""
	}
	program := find()
	if program == "" && mayInstall() {
		if err := install("pgbouncer"); err != nil {
			return "", fmt.Errorf("%w; installing failed: %w", errNoPooler, err)
		}
		program = find()
	}
	if program == "" {
		return "", errNoPooler
	}
	return program, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// installed searches the PATH and the folders of Debian, newest version first.
func installed() string {
	if path, err := exec.LookPath("initdb"); err == nil {
		if program, err := filepath.EvalSymlinks(path); err == nil {
			return filepath.Dir(program)
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return ""
	}
	return filepath.Dir(slices.Max(found))
}

func mayInstall() bool {
	_, err := exec.LookPath("apt-get")
	return err == nil && os.Geteuid() == 0 && (os.Getenv("CI") == "true" || os.Getenv("PERDURE_TEST_INSTALL") == "1")
}

// install installs a package of Debian.
func install(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	for _, args := range [][]string{{"update"}, {"install", "-y", "--no-install-recommends", name}} {
		cmd := exec.CommandContext(ctx, "apt-get", args...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w\n%s", args[0], err, out)
		}
	}
	return nil
}
