package perdurevet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strings"
)

// namedBy lists the functions that take the stored name of a function that they are given.
func namedBy() map[string][]string {
	return map[string][]string{
		orchestrationPath: {
			"CallActivity", "StartActivity", "CallLocal", "StartLocal", "CallOrchestration", "StartOrchestration", "StartDetached",
			"StartChild", "RetryOrchestration",
		},
		runtimePath: {"AddOrchestration", "AddActivity"},
		clientPath:  {"Start", "StartMany", "StartAndUpdate", "CreateSchedule", "EnsureSchedule"},
	}
}

// storedBy lists the functions whose type arguments are stored as JSON.
func storedBy() map[string][]string {
	return map[string][]string{
		orchestrationPath: {
			"CallActivity", "StartActivity", "CallLocal", "StartLocal", "CallOrchestration", "StartOrchestration", "StartDetached",
			"CallActivityNamed", "StartActivityNamed", "CallLocalNamed", "StartLocalNamed", "CallOrchestrationNamed", "StartOrchestrationNamed",
			"StartChild", "StartChildNamed", "RetryOrchestration", "RetryOrchestrationNamed",
			"HandleQuery", "HandleUpdate", "HandleEvent", "Events", "SideEffect", "NewPromise", "ContinueAsNew", "ContinueAsNewAfterHandlers",
			"Define",
		},
		runtimePath: {"AddOrchestration", "AddActivity"},
		clientPath:  {"Start", "StartNamed", "StartMany", "StartManyNamed", "StartAndUpdate", "CreateSchedule", "EnsureSchedule"},
	}
}

// signatures reports functions without a lasting name, and types that cannot be stored.
func (c *checker) signatures() {
	naming, storing := namedBy(), storedBy()
	for _, file := range c.pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fn := c.callee(call)
			if fn == nil || fn.Pkg() == nil {
				return true
			}
			if slices.Contains(naming[fn.Pkg().Path()], fn.Name()) {
				c.nameless(call, fn)
			}
			if slices.Contains(storing[fn.Pkg().Path()], fn.Name()) {
				c.unstorable(call, fn)
			}
			if fn.Pkg().Path() == runtimePath && fn.Name() == "AddActivities" && len(call.Args) > 1 {
				c.unstorableMethods(call, fn)
			}
			return true
		})
	}
}

// nameless reports arguments that are functions whose name the compiler makes up.
func (c *checker) nameless(call *ast.CallExpr, fn *types.Func) {
	for _, arg := range call.Args {
		what := ""
		if id := identOf(arg); id != nil {
			if _, ok := c.pass.TypesInfo.Uses[id].(*types.Func); ok && c.pass.TypesInfo.Instances[id].TypeArgs.Len() > 0 {
				what = "an instance of the generic function " + id.Name
			}
		} else if lit, ok := ast.Unparen(arg).(*ast.FuncLit); ok && c.isWork(lit) {
			what = "a function literal"
		}
		if what == "" {
			continue
		}
		define := "orchestration.Define"
		if s, ok := c.pass.TypesInfo.TypeOf(arg).Underlying().(*types.Signature); ok && !takesContext(s) {
			define = "activity.Define"
		}
		c.reportf(ruleSignature, arg.Pos(), "%s is given %s: it has no name that lasts to be stored; give it one with %s", display(fn), what, define)
	}
}

// isWork reports whether a literal is an orchestration or an activity, by its first parameter.
func (c *checker) isWork(lit *ast.FuncLit) bool {
	s, ok := c.pass.TypesInfo.TypeOf(lit).(*types.Signature)
	return ok && s.Params().Len() == 2 && (isContext(s.Params().At(0).Type()) || isGoContext(s.Params().At(0).Type()))
}

// identOf returns the identifier of the function that an expression names, or nil.
func identOf(x ast.Expr) *ast.Ident {
	switch x := ast.Unparen(x).(type) {
	case *ast.Ident:
		return x
	case *ast.SelectorExpr:
		return x.Sel
	case *ast.IndexExpr:
		return identOf(x.X)
	case *ast.IndexListExpr:
		return identOf(x.X)
	}
	return nil
}

// unstorable reports type arguments that JSON cannot store.
func (c *checker) unstorable(call *ast.CallExpr, fn *types.Func) {
	id := identOf(call.Fun)
	if id == nil {
		return
	}
	args := c.pass.TypesInfo.Instances[id].TypeArgs
	c.reportUnstorable(call, fn, slices.Collect(args.Types()))
}

// unstorableMethods reports methods of the receiver given to AddActivities whose inputs or outputs JSON cannot store. Others that are no
// activities are refused when they are registered, and those that Except names do not count.
func (c *checker) unstorableMethods(call *ast.CallExpr, fn *types.Func) {
	var except []string
	for _, opt := range call.Args[2:] {
		ast.Inspect(opt, func(n ast.Node) bool {
			if x, ok := n.(ast.Expr); ok {
				if v := c.pass.TypesInfo.Types[x].Value; v != nil && v.Kind() == constant.String {
					except = append(except, constant.StringVal(v))
				}
			}
			return true
		})
	}
	var work []types.Type
	for of := range types.NewMethodSet(c.pass.TypesInfo.TypeOf(call.Args[1])).Methods() {
		s, ok := of.Type().(*types.Signature)
		if !ok || !of.Obj().Exported() || slices.Contains(except, of.Obj().Name()) {
			continue
		}
		if s.Params().Len() == 2 && s.Results().Len() == 2 && isGoContext(s.Params().At(0).Type()) {
			work = append(work, s.Params().At(1).Type(), s.Results().At(0).Type())
		}
	}
	c.reportUnstorable(call, fn, work)
}

// reportUnstorable reports the types that JSON cannot store, each once.
func (c *checker) reportUnstorable(call *ast.CallExpr, fn *types.Func, all []types.Type) {
	var said []string
	for _, t := range all {
		s := stored{seen: map[types.Type]bool{}}
		problem := s.walk(t, types.TypeString(t, types.RelativeTo(c.pass.Pkg)))
		if problem != "" && !slices.Contains(said, problem) {
			said = append(said, problem)
			c.reportf(ruleSignature, call.Pos(), "%s stores %s", display(fn), problem)
		}
	}
}

// stored looks for what JSON cannot store in a type.
type stored struct{ seen map[types.Type]bool }

// walk returns what cannot be stored of a type and why, or "".
func (s *stored) walk(t types.Type, path string) string {
	t = types.Unalias(t)
	if s.seen[t] {
		return ""
	}
	s.seen[t] = true
	if p, ok := t.(*types.Pointer); ok {
		return s.walk(p.Elem(), path)
	}
	if _, ok := t.(*types.TypeParam); ok || hasForm(t) {
		return ""
	}
	switch u := t.Underlying().(type) {
	case *types.Interface:
		if u.NumMethods() > 0 {
			return path + ", an interface: decoding cannot know which type it held; use a concrete type or any"
		}
	case *types.Chan, *types.Signature:
		return path + ", which JSON cannot store: it is a " + kindOf(u) + "; take it out, or tag the field `json:\"-\"`"
	case *types.Basic:
		if u.Info()&types.IsComplex != 0 || u.Kind() == types.UnsafePointer {
			return path + ", which JSON cannot store: it is a " + u.Name() + "; take it out, or tag the field `json:\"-\"`"
		}
	case *types.Slice:
		return s.walk(u.Elem(), path+"[]")
	case *types.Array:
		return s.walk(u.Elem(), path+"[]")
	case *types.Map:
		return s.walk(u.Elem(), path+"[]")
	case *types.Struct:
		return s.fields(u, path)
	}
	return ""
}

func kindOf(t types.Type) string {
	if _, ok := t.(*types.Chan); ok {
		return "channel"
	}
	return "function"
}

// fields judges a struct.
func (s *stored) fields(t *types.Struct, path string) string {
	kept := 0
	for i := range t.NumFields() {
		f := t.Field(i)
		if tag(t.Tag(i)) == "-" {
			continue
		}
		if !f.Exported() && !f.Embedded() {
			continue
		}
		kept++
		if problem := s.walk(f.Type(), path+"."+f.Name()); problem != "" {
			return problem
		}
	}
	if kept == 0 && t.NumFields() > 0 {
		return path + ", which JSON stores as {}: it has no exported field; export fields, or give it MarshalJSON and UnmarshalJSON"
	}
	return ""
}

// tag returns the value of the key json of a field's tag.
func tag(all string) string {
	_, rest, found := strings.Cut(all, `json:"`)
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

// hasForm reports whether a type has methods that write or read it.
func hasForm(t types.Type) bool {
	if _, ok := t.Underlying().(*types.Interface); ok {
		return false
	}
	methods := types.NewMethodSet(types.NewPointer(t))
	for _, name := range []string{"MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"} {
		if methods.Lookup(nil, name) != nil {
			return true
		}
	}
	return false
}
