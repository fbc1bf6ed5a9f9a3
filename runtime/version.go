package runtime

import (
	"github.com/perdure/perdure/internal/natural"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/provider"
)

// newestOf returns the function that finds the newest version of an orchestration on this node, or the given one if no version is
// newer. It is nil if no version is registered.
func newestOf(bodies map[provider.Capability]replay.Body) func(name, version string) string {
	var newest map[string]string
	for of := range bodies {
		if of.CodeVersion == "" || natural.Compare(of.CodeVersion, newest[of.Name]) < 0 {
			continue
		}
		if newest == nil {
			newest = make(map[string]string)
		}
		newest[of.Name] = of.CodeVersion
	}
	if newest == nil {
		return nil
	}
	return func(name, version string) string {
		if here := newest[name]; natural.Compare(here, version) > 0 {
			return here
		}
		return version
	}
}
