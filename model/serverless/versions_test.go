package serverless

import (
	"errors"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

// A program that links another jq, or another reader of YAML, does not run documents.
func TestHazard074_OtherInterpretersAreRefused(t *testing.T) {
	t.Parallel()
	module, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for path, version := range pinned {
		if !strings.Contains(string(module), "\t"+path+" "+version+"\n") && !strings.Contains(string(module), "\t"+path+" "+version+" //") {
			t.Errorf("go.mod does not demand %s %s", path, version)
		}
		for _, other := range []*debug.Module{
			{Path: path, Version: "v0.99.0"},
			{Path: path, Version: version, Replace: &debug.Module{Path: "../fork"}},
		} {
			err := linked(&debug.BuildInfo{Deps: []*debug.Module{{Path: "golang.org/x/sys", Version: "v0.1.0"}, other}})
			if !errors.Is(err, ErrLinked) || !strings.Contains(err.Error(), "go get "+path+"@"+version) {
				t.Errorf("%s %s: %v", path, other.Version, err)
			}
		}
	}
	same := &debug.BuildInfo{}
	for path, version := range pinned {
		same.Deps = append(same.Deps, &debug.Module{Path: path, Version: version})
	}
	if err := linked(same); err != nil {
		t.Error(err)
	}
	// A test does not say what it is built from.
	if err := linked(&debug.BuildInfo{}); err != nil {
		t.Errorf("no modules: %v", err)
	}
}
