package runtime

import (
	"fmt"
	"slices"

	"github.com/perdure/perdure/internal/funcname"
)

// names checks whether a function is the registered one. It implements replay.Names.
type names struct {
	what     string
	pointers map[string][]uintptr // one on each queue, 0 for a method that reflection has found
	methods  map[string][]string  // by the symbol of a method: the names under which it is registered
	found    map[string][]string  // by name: the symbols of methods that reflection has found, one on each queue
}

func newNames(what string) names {
	return names{what, make(map[string][]uintptr), make(map[string][]string), make(map[string][]string)}
}

// add registers a function, and the code behind it if it was defined.
func (n names) add(name string, pointer, code uintptr) {
	n.pointers[name] = append(n.pointers[name], pointer)
	if funcname.IsMethodValue(code) {
		n.addMethod(name, funcname.Symbol(code))
	}
}

// addFound registers a method that reflection has found. It has no pointer of its own: all such methods share one.
func (n names) addFound(name, symbol string) {
	n.pointers[name], n.found[name] = append(n.pointers[name], 0), append(n.found[name], symbol)
	n.addMethod(name, symbol)
}

func (n names) addMethod(name, symbol string) {
	if !slices.Contains(n.methods[symbol], name) {
		n.methods[symbol] = append(n.methods[symbol], name)
		slices.Sort(n.methods[symbol])
	}
}

// Check implements replay.Names.
func (n names) Check(name string, pointer uintptr) error {
	registered, ok := n.pointers[name]
	symbol := ""
	if len(n.methods) > 0 && funcname.IsMethodValue(pointer) {
		symbol = funcname.Symbol(pointer)
	}
	switch others := n.methods[symbol]; {
	case !ok && len(others) > 0:
		return fmt.Errorf("%s method %q is registered as %q: call what Define returns for that name, or call it by that name", n.what, name, others)
	case !ok:
		return fmt.Errorf("%s %q is not registered on this node: add it to the registry, or call it by name if it runs elsewhere", n.what, name)
	case !slices.Contains(registered, pointer) && !slices.Contains(n.found[name], symbol):
		return fmt.Errorf("%s %q is registered with another function: give one of them another name with Define, or, in "+
			"a test, replace it with orchestrationtest.Replace or call it by its name (CallActivityNamed, CallOrchestrationNamed)", n.what, name)
	case len(others) > 1:
		return fmt.Errorf("%s method %q is registered under the names %q, and a method value does not show its receiver: "+
			"call what Define answered, or call it by name", n.what, name, others)
	}
	return nil
}
