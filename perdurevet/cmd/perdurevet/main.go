// Command perdurevet checks orchestration code of perdure: see package perdurevet.
//
//	perdurevet ./...
//	go vet -vettool=$(which perdurevet) ./...
//
// The two find the same where go vet has no result of another call in its cache. Flags stand before the packages:
//
//	perdurevet -perdurevet.skip=print -perdurevet.tests=false ./...
package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/perdure/perdure/perdurevet"
)

const usage = `perdurevet checks orchestration code of perdure.

usage:
  perdurevet [-perdurevet.skip=RULES] [-perdurevet.tests=false] PACKAGES
  go vet -vettool="$(command -v perdurevet)" PACKAGES
  perdurevet help perdurevet    # the rules
`

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if !byGo(args) {
		debug.SetGCPercent(400)
		if args = remaining(args); args == nil {
			return
		}
		os.Exit(vet(args))
	}
	if written, err := withoutFacts(args[len(args)-1]); err != nil {
		fmt.Fprintf(os.Stderr, "perdurevet: %v\n", err)
		os.Exit(1)
	} else if written {
		return
	}
	debug.SetGCPercent(800) // the process ends with its package
	analyzer := perdurevet.New()
	analyzer.Flags.String(cacheKey, "", "no effect but on the cache of go vet, which takes results with other values for others")
	unitchecker.Main(analyzer)
}

// byGo reports whether go vet, or somebody who wants help, has called the command.
func byGo(args []string) bool {
	last := args[len(args)-1]
	return args[0] == "help" || strings.HasPrefix(last, "-V") || last == "-flags" || last == "-h" || last == "-help" || last == "--help" ||
		strings.HasSuffix(last, ".cfg")
}

// cacheKey is a flag of the tool.
const cacheKey = "cachekey"

// vet runs go vet with this program as its tool. It returns the exit code.
//
// Go 1.26 caches a result without regard to whether the package was named, or only looked at because another one imports it: after the second,
// go vet finds nothing in the first. What is cached for other arguments, which may name other packages, is therefore not used.
func vet(args []string) int {
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintf(os.Stderr, "perdurevet: finding this program: %v\n", err)
		return 1
	}
	folder, err := os.Getwd() // arguments may be relative to it
	if err != nil {
		fmt.Fprintf(os.Stderr, "perdurevet: finding the current folder: %v\n", err)
		return 1
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", folder, args))
	key := fmt.Sprintf("-perdurevet.%s=%x", cacheKey, sum[:8])
	cmd := exec.Command("go", append([]string{"vet", "-vettool=" + self, key}, args...)...) //nolint:gosec,noctx // what the user asks for, until it ends
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ExitCode()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "perdurevet: running go vet: %v\n", err)
		return 1
	}
	return 0
}

// withoutFacts writes an empty file of facts for a package of another module, and reports whether it did. Nothing is known of these packages,
// and to type-check them all would take most of the time.
func withoutFacts(config string) (bool, error) {
	if !strings.HasSuffix(config, ".cfg") {
		return false, nil
	}
	data, err := os.ReadFile(config) //nolint:gosec // the file that go vet names
	if err != nil {
		return false, fmt.Errorf("reading what go vet asks for: %w", err)
	}
	var unit unitchecker.Config
	if err := json.Unmarshal(data, &unit); err != nil {
		return false, fmt.Errorf("reading what go vet asks for: %w", err)
	}
	if !unit.VetxOnly || unit.VetxOutput == "" || inMainModule(unit) {
		return false, nil
	}
	if err := os.WriteFile(unit.VetxOutput, nil, 0o600); err != nil {
		return false, fmt.Errorf("writing facts: %w", err)
	}
	return true, nil
}

// inMainModule reports whether a package is of the main module: it has a module without a version.
func inMainModule(unit unitchecker.Config) bool {
	if unit.Module != nil {
		return unit.Module.Path != "" && unit.Module.Version == ""
	}
	return unit.ModulePath != "" && unit.ModuleVersion == "" // of a go command before 1.27
}
