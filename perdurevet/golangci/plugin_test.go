package golangci_test

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"

	"github.com/perdure/perdure/perdurevet/golangci"
)

func TestPlugin(t *testing.T) {
	t.Parallel()
	made, err := register.GetPlugin(golangci.Name)
	if err != nil {
		t.Fatal(err)
	}
	linter, err := made(map[string]any{"skip": []string{"print", "io"}})
	if err != nil {
		t.Fatal(err)
	}
	if mode := linter.GetLoadMode(); mode != register.LoadModeTypesInfo {
		t.Errorf("load mode %q", mode)
	}
	analyzers, err := linter.BuildAnalyzers()
	if err != nil || len(analyzers) != 1 {
		t.Fatal(len(analyzers), err)
	}
	if a := analyzers[0]; a.Name != golangci.Name || a.Flags.Lookup("skip").Value.String() != "print,io" {
		t.Errorf("analyzer %s skips %q", a.Name, a.Flags.Lookup("skip").Value)
	}
	linter, err = made(map[string]any{"skip": []string{"prints"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := linter.BuildAnalyzers(); err == nil {
		t.Error("an unknown rule is no error")
	}
	if _, err := made(nil); err != nil {
		t.Errorf("without settings: %v", err)
	}
	if _, err := made(map[string]any{"skipped": "print"}); err == nil {
		t.Error("an unknown setting is no error")
	}
}
