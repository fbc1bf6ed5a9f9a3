package perdurevet

import (
	"go/ast"
	"go/types"
	"slices"

	"golang.org/x/tools/go/types/typeutil"
)

const (
	orchestrationPath = "github.com/perdure/perdure/orchestration"
	runtimePath       = "github.com/perdure/perdure/runtime"
	clientPath        = "github.com/perdure/perdure/client"
)

// Functions of package orchestration whose calls the engine does not see: they read, or store what is no event.
func quietMethods() []string {
	return []string{"Now", "Info", "Err", "Logger", "SetStatus", "Detached", "WithCancel", "WithActivityOptions", "SetHandlerGrace"}
}

func quietFunctions() []string { return []string{"SetValue", "SetAttribute", "EndSession"} }

// Methods of Context that a query, a validator, a condition and a side effect may call.
func readingMethods() []string { return []string{"Now", "Info", "Err", "Logger"} }

// Methods of Context that belong to its scope: they wait in it, or make a part of it.
func scopedMethods() []string {
	return []string{"Sleep", "WithCancel", "WithTimeout", "Go", "Await", "AwaitHandlers"}
}

// Functions whose result depends on the order of their futures.
func orderedFunctions() []string { return []string{"All", "Race", "Select"} }

// Methods without a Context whose order code can see, by their types.
func orderedMethods() map[string][]string {
	return map[string][]string{"Group": {"Go", "Wait"}, "Mutex": {"Unlock"}, "Semaphore": {"Release"}, "Saga": {"Undo"}}
}

// Functions whose future may be dropped: what they begin goes on by itself.
func droppable() []string {
	return []string{"Go", "Raise", "Cancel", "CancelInstance", "StartDetached", "StartDetachedNamed"}
}

// named returns the path of the package and the name of a type, or of the type that a pointer leads to.
func named(t types.Type) (path, name string) {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, ok := t.(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return "", ""
	}
	return n.Obj().Pkg().Path(), n.Obj().Name()
}

// isContext reports whether t is *orchestration.Context.
func isContext(t types.Type) bool {
	if t == nil {
		return false
	}
	if _, ok := types.Unalias(t).(*types.Pointer); !ok {
		return false
	}
	path, name := named(t)
	return path == orchestrationPath && name == "Context"
}

// isFuture reports whether t is an orchestration.Future, or a Child, which is one.
func isFuture(t types.Type) bool {
	path, name := named(t)
	return path == orchestrationPath && (name == "Future" || name == "Child")
}

// isGoContext reports whether t is context.Context.
func isGoContext(t types.Type) bool {
	path, name := named(t)
	return path == "context" && name == "Context"
}

// takesContext reports whether a function has a parameter of type *orchestration.Context.
func takesContext(s *types.Signature) bool {
	for p := range s.Params().Variables() {
		if isContext(p.Type()) {
			return true
		}
	}
	return false
}

// callee returns the function that a call names, or nil. The function of an instance is that of its generic declaration.
func (c *checker) callee(call *ast.CallExpr) *types.Func {
	fn, ok := typeutil.Callee(c.pass.TypesInfo, call).(*types.Func)
	if !ok {
		return nil
	}
	return fn.Origin()
}

// builtin returns the name of the builtin function that a call names, or "".
func (c *checker) builtin(call *ast.CallExpr) string {
	b, ok := typeutil.Callee(c.pass.TypesInfo, call).(*types.Builtin)
	if !ok {
		return ""
	}
	return b.Name()
}

// ofOrchestration reports whether a function or method is of package orchestration and has one of the names.
func ofOrchestration(fn *types.Func, names ...string) bool {
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == orchestrationPath && slices.Contains(names, fn.Name())
}

// isContextMethod reports whether fn is a method of *orchestration.Context.
func isContextMethod(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && isContext(recv.Type())
}

// display names a function for a message.
func display(fn *types.Func) string {
	if recv := fn.Signature().Recv(); recv != nil {
		if path, name := named(recv.Type()); path == orchestrationPath && name == "Context" {
			return "ctx." + fn.Name()
		} else if name != "" {
			return name + "." + fn.Name()
		}
		return fn.Name()
	}
	if fn.Pkg() == nil {
		return fn.Name()
	}
	return fn.Pkg().Name() + "." + fn.Name()
}

// isFutureMethod reports whether fn is the method of Future with the name.
func isFutureMethod(fn *types.Func, name string) bool {
	recv := fn.Signature().Recv()
	return recv != nil && isFuture(recv.Type()) && fn.Name() == name
}

// isOrderedMethod reports whether fn is one of orderedMethods.
func isOrderedMethod(fn *types.Func) bool {
	return slices.Contains(orderedMethods()[receiverOf(fn)], fn.Name())
}

// isSourceMethod reports whether fn is a method of what code can wait for: a Future, a Promise or a Mailbox.
func isSourceMethod(fn *types.Func) bool {
	return slices.Contains([]string{"Future", "Promise", "Mailbox"}, receiverOf(fn))
}

// receiverOf returns the name of the type of package orchestration that fn is a method of, or "".
func receiverOf(fn *types.Func) string {
	recv := fn.Signature().Recv()
	if recv == nil {
		return ""
	}
	path, name := named(recv.Type())
	if path != orchestrationPath {
		return ""
	}
	return name
}
