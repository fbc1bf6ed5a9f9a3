package perdurevet

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
)

const sortKeys = "range over slices.Sorted(maps.Keys(m))"

// mapOrder reports loops over a map that lead to calls of the engine: each run and each replay makes them in another order.
func (c *checker) mapOrder(u *unit) {
	c.inspect(u.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if !c.unordered(n.X) {
				return true
			}
			if name, ok := c.engineIn(n.Body, map[*ast.BlockStmt]bool{}); ok {
				c.reportf(ruleMapOrder, n.Pos(), "range over a map calls %s: each replay has another order; %s", name, sortKeys)
				return true
			}
			for _, v := range c.built(n) {
				c.unsorted(u, n, v)
			}
		case *ast.AssignStmt:
			if len(n.Lhs) != 1 || len(n.Rhs) != 1 {
				return true
			}
			id, ok := n.Lhs[0].(*ast.Ident)
			call, is := ast.Unparen(n.Rhs[0]).(*ast.CallExpr)
			if ok && is && c.isCall(call, "slices", "Collect") && len(call.Args) == 1 && c.unordered(call.Args[0]) {
				if v, ok := c.pass.TypesInfo.ObjectOf(id).(*types.Var); ok {
					c.unsorted(u, n, v)
				}
			}
		}
		return true
	})
}

// unordered reports whether a range over x has another order each time: x is a map, or an iterator over one.
func (c *checker) unordered(x ast.Expr) bool {
	t := c.pass.TypesInfo.TypeOf(x)
	if t == nil {
		return false
	}
	if _, ok := t.Underlying().(*types.Map); ok {
		return true
	}
	call, ok := ast.Unparen(x).(*ast.CallExpr)
	return ok && (c.isCall(call, "maps", "Keys", "Values", "All") || c.isCall(call, "slices", "Collect") && len(call.Args) == 1 && c.unordered(call.Args[0]))
}

// isCall reports whether a call is of a function of a package of the standard library.
func (c *checker) isCall(call *ast.CallExpr, pkg string, names ...string) bool {
	fn := c.callee(call)
	return fn != nil && fn.Pkg() != nil && fn.Pkg().Path() == pkg && slices.Contains(names, fn.Name())
}

// built returns the variables to which a loop appends.
func (c *checker) built(loop *ast.RangeStmt) []*types.Var {
	var vars []*types.Var
	c.inspect(loop.Body, func(n ast.Node) bool {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Lhs) != 1 || len(assign.Rhs) != 1 {
			return true
		}
		call, is := ast.Unparen(assign.Rhs[0]).(*ast.CallExpr)
		id, ok := assign.Lhs[0].(*ast.Ident)
		if !is || !ok || c.builtin(call) != "append" {
			return true
		}
		if v, ok := c.pass.TypesInfo.ObjectOf(id).(*types.Var); ok && v.Pos() < loop.Pos() && !slices.Contains(vars, v) {
			vars = append(vars, v)
		}
		return true
	})
	return vars
}

// unsorted reports a loop over a map if code behind it goes over what the loop has built, calls the engine, and nothing sorts it before.
func (c *checker) unsorted(u *unit, loop ast.Node, v *types.Var) {
	done := false
	c.inspect(u.body, func(n ast.Node) bool {
		if n == nil || done || n.End() <= loop.End() && n != u.body {
			return false
		}
		if n.Pos() < loop.End() {
			return true // what is around the loop
		}
		name, calls := "", false
		switch n := n.(type) {
		case *ast.CallExpr:
			if fn := c.callee(n); fn != nil && fn.Pkg() != nil && c.mentions(n, v) {
				if fn.Pkg().Path() == "sort" || strings.Contains(strings.ToLower(fn.Name()), "sort") {
					done = true
					return false
				}
				if ofOrchestration(fn, orderedFunctions()...) && n.Ellipsis.IsValid() {
					name, calls = display(fn), true
				}
			}
		case *ast.RangeStmt:
			if c.mentions(n.X, v) {
				name, calls = c.engineIn(n.Body, map[*ast.BlockStmt]bool{})
			}
		case *ast.ForStmt:
			if c.mentions(n.Body, v) {
				name, calls = c.engineIn(n.Body, map[*ast.BlockStmt]bool{})
			}
		}
		if calls {
			c.reportf(ruleMapOrder, loop.Pos(), "the order of a map decides how %s is called (%s): each replay has another one; sort %s first, or %s",
				name, c.place(n.Pos()), v.Name(), sortKeys)
			done = true
		}
		return !done
	})
}

// mentions reports whether code below a node uses a variable.
func (c *checker) mentions(node ast.Node, v *types.Var) bool {
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && c.pass.TypesInfo.ObjectOf(id) == v {
			found = true
		}
		return !found
	})
	return found
}
