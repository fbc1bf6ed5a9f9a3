// Package golangci makes perdurevet a linter of golangci-lint, by its module plugin system: `golangci-lint custom` builds a golangci-lint
// that imports this package.
package golangci

import (
	"fmt"
	"strings"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/perdure/perdure/perdurevet"
)

// Name is the name of the linter in .golangci.yml.
const Name = "perdurevet"

func init() { register.Plugin(Name, New) } //nolint:gochecknoinits // golangci-lint finds its plugins so

// Settings are those under linters.settings.custom.perdurevet.settings.
type Settings struct {
	Skip []string `json:"skip"` // rules to leave out
}

type plugin struct{ settings Settings }

// New makes the linter from its settings.
func New(conf any) (register.LinterPlugin, error) {
	settings, err := register.DecodeSettings[Settings](conf)
	if err != nil {
		return nil, fmt.Errorf("settings of %s: %w", Name, err)
	}
	return plugin{settings}, nil
}

// BuildAnalyzers returns the analyzer. It implements [register.LinterPlugin].
func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	a := perdurevet.New()
	if err := a.Flags.Set("skip", strings.Join(p.settings.Skip, ",")); err != nil {
		return nil, fmt.Errorf("settings of %s: %w", Name, err)
	}
	return []*analysis.Analyzer{a}, nil
}

// GetLoadMode says that the analyzer needs types. It implements [register.LinterPlugin].
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
