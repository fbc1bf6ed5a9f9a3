package perdurevet

import (
	"go/ast"
	"go/types"
	"slices"
)

// engineIn returns the name of the first call below a node that reaches the engine. seen has the bodies that were looked at.
func (c *checker) engineIn(node ast.Node, seen map[*ast.BlockStmt]bool) (name string, ok bool) {
	ast.Inspect(node, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is && !ok {
			name, ok = c.engineCall(call, seen)
		}
		return !ok
	})
	return name, ok
}

// engineCall returns the name of a call that reaches the engine so that replay can see when: it is recorded, or waits.
func (c *checker) engineCall(call *ast.CallExpr, seen map[*ast.BlockStmt]bool) (name string, ok bool) {
	if t, known := c.pass.TypesInfo.Types[call.Fun]; known && (t.IsType() || t.IsBuiltin()) {
		return "", false
	}
	fn := c.callee(call)
	if fn != nil {
		switch {
		case isContextMethod(fn):
			return display(fn), !slices.Contains(quietMethods(), fn.Name())
		case ofOrchestration(fn, quietFunctions()...):
			return "", false
		case isFutureMethod(fn, "Cancel"), isOrderedMethod(fn):
			return display(fn), true
		}
	}
	if slices.ContainsFunc(call.Args, func(arg ast.Expr) bool { return isContext(c.pass.TypesInfo.TypeOf(arg)) }) {
		return c.nameOf(call, fn), true
	}
	body := c.bodyOf(call, fn)
	if body == nil || seen[body] {
		return "", false
	}
	seen[body] = true
	if _, ok := c.engineIn(body, seen); !ok {
		return "", false
	}
	return c.nameOf(call, fn), true
}

// nameOf names what a call calls.
func (c *checker) nameOf(call *ast.CallExpr, fn *types.Func) string {
	if fn != nil && fn.Pkg() == c.pass.Pkg && fn.Signature().Recv() == nil {
		return fn.Name()
	}
	if fn != nil {
		return display(fn)
	}
	return types.ExprString(call.Fun)
}

// bodyOf returns the body of what a call calls, if that is a function of this package or a literal in a variable.
func (c *checker) bodyOf(call *ast.CallExpr, fn *types.Func) *ast.BlockStmt {
	if decl := c.decls[fn]; fn != nil && decl != nil {
		return decl.Body
	}
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok {
		return nil
	}
	v, ok := c.pass.TypesInfo.Uses[id].(*types.Var)
	if !ok || c.literals[v] == nil {
		return nil
	}
	return c.literals[v].Body
}
