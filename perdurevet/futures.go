package perdurevet

import (
	"go/ast"
	"go/types"
	"slices"
)

// dropped reports calls that begin something and drop its future: nobody learns of its failure, and the end of the execution cancels it.
func (c *checker) dropped(u *unit) {
	c.inspect(u.body, func(n ast.Node) bool {
		call := statement(n)
		if call == nil || !isFuture(c.pass.TypesInfo.TypeOf(call)) {
			return true
		}
		fn := c.callee(call)
		if ofOrchestration(fn, droppable()...) {
			return true
		}
		c.reportf(ruleFuture, call.Pos(), "the future of %s is dropped: nobody learns of a failure, and the end of the execution cancels it; "+
			"call Get, or assign it to _ to say so", c.nameOf(call, fn))
		return true
	})
}

// statement returns the call of a statement whose result nobody uses, or nil.
func statement(n ast.Node) *ast.CallExpr {
	switch n := n.(type) {
	case *ast.ExprStmt:
		call, _ := ast.Unparen(n.X).(*ast.CallExpr)
		return call
	case *ast.DeferStmt:
		return n.Call
	}
	return nil
}

// outerScope reports coroutines and handlers that use the context of the function around them.
func (c *checker) outerScope(u *unit) {
	if u.what == "" || u.outer == nil {
		return
	}
	outer := c.contextsAround(u)
	c.inspect(u.body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		fn := c.callee(call)
		if fn != nil && isContextMethod(fn) && slices.Contains(scopedMethods(), fn.Name()) {
			if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
				c.reportScope(u, sel.X, display(fn), outer)
			}
		}
		if ofOrchestration(fn, quietFunctions()...) {
			return true
		}
		for _, arg := range call.Args {
			c.reportScope(u, arg, c.nameOf(call, fn), outer)
		}
		return true
	})
}

func (c *checker) reportScope(u *unit, x ast.Expr, called string, outer []*types.Var) {
	id, ok := ast.Unparen(x).(*ast.Ident)
	if !ok {
		return
	}
	v, ok := c.pass.TypesInfo.Uses[id].(*types.Var)
	if !ok || !slices.Contains(outer, v) {
		return
	}
	why := "the end of the outer function ends the call, and a cancellation of the instance reaches it in another way"
	switch u.what {
	case "ctx.Go":
		why = "cancelling the future does not reach the call"
	case "Group.Go", "orchestration.Map":
		why = "the error of another function does not reach the call"
	case "Saga.Undo":
		why = "a cancellation ends the call, which has to undo something then"
	}
	c.reportf(ruleScope, x.Pos(), "the function of %s calls %s with the %s of the function around it: %s; use its own parameter",
		u.what, called, v.Name(), why)
}

// contextsAround returns the parameters of type *Context of the functions that a unit stands in.
func (c *checker) contextsAround(u *unit) []*types.Var {
	var found []*types.Var
	for around := u.outer; around != nil; around = around.outer {
		for _, field := range around.typ.Params.List {
			for _, name := range field.Names {
				if v, ok := c.pass.TypesInfo.Defs[name].(*types.Var); ok && isContext(v.Type()) {
					found = append(found, v)
				}
			}
		}
	}
	return found
}
