package perdurevet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// restricted reports what functions of queries, validators, conditions and side effects do that they must not.
func (c *checker) restricted(u *unit) {
	c.inspect(u.body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if fn := c.callee(call); c.beyondReading(call, fn) {
				why, instead := "it may only read, and the call ends it", "call the engine in the orchestration, and let it read the result from a variable"
				switch u.kind {
				case effect:
					why, instead = "it must not use the engine, and the turn fails", "call the engine before or after it"
				case condition:
					why, instead = "it may only read, and the turn fails", "call the engine in other code, and let it read the result from a variable"
				default:
				}
				c.reportf(ruleHandler, call.Pos(), "the function of %s calls %s: %s; %s", u.what, display(fn), why, instead)
			}
		}
		return true
	})
	if u.kind == effect {
		return
	}
	if name, at := c.firstChange(u.body, u.typ.Pos(), u.body.End()); name != "" {
		why := "a replay does not run it, so the change is lost; change it in an update or event handler"
		if u.kind == condition {
			why = "the engine decides how often it looks; change it behind the call"
		}
		c.reportf(ruleHandler, at, "the function of %s changes %s: %s", u.what, name, why)
	}
}

// beyondReading reports whether a call of package orchestration uses the engine for more than to read.
func (c *checker) beyondReading(call *ast.CallExpr, fn *types.Func) bool {
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != orchestrationPath {
		return false
	}
	if isContextMethod(fn) {
		return !slices.Contains(readingMethods(), fn.Name())
	}
	return takesContext(fn.Signature()) && len(call.Args) > 0 || isSourceMethod(fn) && fn.Name() != "Ready"
}

// changesOutside returns the name of a variable that a literal changes and that is declared outside of it, or "".
func (c *checker) changesOutside(body *ast.BlockStmt, lit *ast.FuncLit) string {
	name, _ := c.firstChange(body, lit.Pos(), lit.End())
	return name
}

// firstChange returns the first variable that code changes and that is declared outside of a range of positions.
func (c *checker) firstChange(body ast.Node, from, to token.Pos) (name string, at token.Pos) {
	outside := func(x ast.Expr) {
		v := c.root(x)
		if v != nil && name == "" && (v.Pos() < from || v.Pos() > to) {
			name, at = v.Name(), x.Pos()
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				outside(x)
			}
		case *ast.IncDecStmt:
			outside(n.X)
		case *ast.CallExpr:
			switch c.builtin(n) {
			case "delete", "clear", "copy":
				outside(n.Args[0])
			case "":
				if sel, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok && c.changesReceiver(c.decls[c.callee(n)]) != "" {
					outside(sel.X)
				}
			}
		}
		return name == ""
	})
	return name, at
}

// changesReceiver returns the name of the receiver of a method that assigns to a part of it, or "".
func (c *checker) changesReceiver(decl *ast.FuncDecl) string {
	if decl == nil || decl.Recv == nil || len(decl.Recv.List[0].Names) == 0 {
		return ""
	}
	recv, ok := c.pass.TypesInfo.Defs[decl.Recv.List[0].Names[0]].(*types.Var)
	if !ok {
		return ""
	}
	if _, ok := recv.Type().Underlying().(*types.Pointer); !ok {
		return ""
	}
	changed := false
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				changed = changed || c.part(x, recv)
			}
		case *ast.IncDecStmt:
			changed = changed || c.part(n.X, recv)
		case *ast.CallExpr:
			switch c.builtin(n) {
			case "delete", "clear", "copy":
				changed = changed || c.part(n.Args[0], recv)
			}
		}
		return !changed
	})
	if !changed {
		return ""
	}
	return recv.Name()
}

// part reports whether an operand is a part of a variable, not the variable itself.
func (c *checker) part(x ast.Expr, of *types.Var) bool {
	if _, ok := ast.Unparen(x).(*ast.Ident); ok {
		return false
	}
	return c.root(x) == of
}
