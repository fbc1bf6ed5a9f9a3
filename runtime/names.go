package runtime

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/funcname"
)

// names checks whether a function is the registered one. It implements replay.Names.
type names struct {
	what     string
	pointers map[string][]uintptr // one on each queue
	methods  map[uintptr][]string // names under which the code of a method value is registered
}

func newNames(what string) names {
	return names{what, make(map[string][]uintptr), make(map[uintptr][]string)}
}

// add registers a function, and the code behind it if it was defined.
func (n names) add(name string, pointer, code uintptr) {
	n.pointers[name] = append(n.pointers[name], pointer)
	if funcname.IsMethodValue(code) && !slices.Contains(n.methods[code], name) {
		n.methods[code] = append(n.methods[code], name)
		slices.Sort(n.methods[code])
	}
}

// Check implements replay.Names.
func (n names) Check(name string, pointer uintptr) error {
	registered, ok := n.pointers[name]
	switch {
	case !ok:
		return fmt.Errorf("%s %q is not registered on this node: add it to the registry, or call it by name if it runs elsewhere", n.what, name)
	case !slices.Contains(registered, pointer):
		return fmt.Errorf("%s %q is registered with another function: give one of them another name with Define, or, in "+
			"a test, replace it with orchestrationtest.Replace or call it by its name (CallActivityNamed, CallOrchestrationNamed)", n.what, name)
	case len(n.methods[pointer]) > 1:
		return fmt.Errorf("%s method %q is registered under the names %q, and a method value does not show its receiver: "+
			"call what Define answered, or call it by name", n.what, name, n.methods[pointer])
	}
	return nil
}
