package perdurevet

import (
	"go/ast"
	"go/token"
	"go/types"
)

// Denials of statements.
func goStatement() denial { return denial{ruleGoroutine, ownGoroutine, "use ctx.Go", false} }

func channelUse() denial {
	return denial{ruleBlocking, engineIsBlind, "use a future, orchestration.Events or orchestration.Select", false}
}

func globalChange() denial {
	return denial{ruleGlobal, "a replay finds it changed, and other instances change it, too", "use a variable of the function, or its input", false}
}

// deed is something that code must not do.
type deed struct {
	denial

	what string
	at   token.Pos
}

// determinism reports what orchestration code does that depends on more than its history.
func (c *checker) determinism(u *unit) {
	c.inspect(u.body, func(n ast.Node) bool {
		for _, d := range c.deeds(n) {
			c.reportf(d.rule, d.at, "orchestration code %s: %s; %s", d.what, d.why, d.instead)
		}
		if call, ok := n.(*ast.CallExpr); ok {
			c.followed(call)
		}
		return true
	})
}

// deeds returns what a node itself does that orchestration code must not do.
func (c *checker) deeds(n ast.Node) []deed {
	switch n := n.(type) {
	case *ast.GoStmt:
		return []deed{{goStatement(), "starts a goroutine", n.Pos()}}
	case *ast.SelectStmt:
		return []deed{{channelUse(), "selects among channels", n.Pos()}}
	case *ast.SendStmt:
		if !c.selected[n] {
			return []deed{{channelUse(), "sends to a channel", n.Pos()}}
		}
	case *ast.UnaryExpr:
		if n.Op == token.ARROW && !c.selected[n] {
			return []deed{{channelUse(), "receives from a channel", n.Pos()}}
		}
	case *ast.RangeStmt:
		return c.rangeDeeds(n)
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return c.changes(n.Lhs...)
		}
	case *ast.IncDecStmt:
		return c.changes(n.X)
	case *ast.CallExpr:
		return c.callDeeds(n)
	case *ast.Ident:
		if fn, ok := c.pass.TypesInfo.Uses[n].(*types.Func); ok && !c.excused[n] {
			if d, ok := c.denied(fn.Origin()); ok {
				return []deed{{d, "uses " + display(fn), n.Pos()}}
			}
		}
	}
	return nil
}

func (c *checker) rangeDeeds(n *ast.RangeStmt) []deed {
	var found []deed
	if t := c.pass.TypesInfo.TypeOf(n.X); t != nil {
		if _, ok := t.Underlying().(*types.Chan); ok {
			found = append(found, deed{channelUse(), "receives from a channel", n.Pos()})
		}
	}
	if n.Tok == token.ASSIGN {
		for _, to := range []ast.Expr{n.Key, n.Value} {
			if to != nil {
				found = append(found, c.changes(to)...)
			}
		}
	}
	return found
}

// callDeeds returns what builtin functions and atomic ones do with channels and package variables.
func (c *checker) callDeeds(call *ast.CallExpr) []deed {
	if len(call.Args) > 0 {
		switch c.builtin(call) {
		case "close":
			return []deed{{channelUse(), "closes a channel", call.Pos()}}
		case "delete", "clear", "copy":
			return c.changes(call.Args[0])
		}
	}
	fn := c.callee(call)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != "sync/atomic" || fn.Name() == "Load" {
		return nil
	}
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && fn.Signature().Recv() != nil {
		return c.changes(sel.X)
	}
	if len(call.Args) > 0 && !isLoad(fn.Name()) {
		if addr, ok := ast.Unparen(call.Args[0]).(*ast.UnaryExpr); ok && addr.Op == token.AND {
			return c.changes(addr.X)
		}
	}
	return nil
}

func isLoad(name string) bool { return len(name) >= 4 && name[:4] == "Load" }

// changes returns which of the changed operands are package variables, or parts of one.
func (c *checker) changes(operands ...ast.Expr) []deed {
	var found []deed
	for _, x := range operands {
		v := c.root(x)
		if v != nil && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
			found = append(found, deed{globalChange(), "changes the package variable " + v.Name(), x.Pos()})
		}
	}
	return found
}

// root returns the variable that an operand is or is a part of, or nil.
func (c *checker) root(x ast.Expr) *types.Var {
	for {
		switch e := x.(type) {
		case *ast.Ident:
			v, _ := c.pass.TypesInfo.ObjectOf(e).(*types.Var)
			return v
		case *ast.SelectorExpr:
			if id, ok := e.X.(*ast.Ident); ok {
				if _, ok := c.pass.TypesInfo.Uses[id].(*types.PkgName); ok {
					x = e.Sel
					continue
				}
			}
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		case *ast.StarExpr:
			x = e.X
		case *ast.ParenExpr:
			x = e.X
		default:
			return nil
		}
	}
}
