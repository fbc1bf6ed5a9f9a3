package perdurevet

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

const (
	continueNow  = "ContinueAsNew"
	continueLate = "ContinueAsNewAfterHandlers"
)

// continues reports calls of ContinueAsNew whose error does not become the result of the function, and those in handlers.
func (c *checker) continues(u *unit) {
	handler := strings.HasPrefix(u.what, "orchestration.Handle")
	c.inspect(u.body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && handler && c.isContinue(call) {
			c.reportf(ruleContinue, call.Pos(), "a handler calls %s: it returns ErrInvalid there; set a variable, and call it in the function of the orchestration",
				c.callee(call).Name())
			return true
		}
		if call := statement(n); call != nil && c.isContinue(call) {
			c.notReturned(call)
		}
		if assign, ok := n.(*ast.AssignStmt); ok && len(assign.Lhs) == 1 && len(assign.Rhs) == 1 {
			call, is := ast.Unparen(assign.Rhs[0]).(*ast.CallExpr)
			if is && c.isContinue(call) && c.forgotten(u, assign) {
				c.notReturned(call)
			}
		}
		return true
	})
}

func (c *checker) isContinue(call *ast.CallExpr) bool {
	return ofOrchestration(c.callee(call), continueNow, continueLate)
}

func (c *checker) notReturned(call *ast.CallExpr) {
	name := c.callee(call).Name()
	c.reportf(ruleContinue, call.Pos(), "the error of %s is not returned: only its return continues as new; write return out, orchestration.%s(...)", name, name)
}

// forgotten reports whether the error that a statement assigns is dropped, or only compared.
func (c *checker) forgotten(u *unit, assign *ast.AssignStmt) bool {
	id, ok := assign.Lhs[0].(*ast.Ident)
	if !ok {
		return false
	}
	if id.Name == "_" {
		return true
	}
	v, ok := c.pass.TypesInfo.ObjectOf(id).(*types.Var)
	if !ok || v.Pos() < u.body.Pos() || v.Pos() > u.body.End() { // a result, or a variable of the function around
		return false
	}
	compared := map[*ast.Ident]bool{id: true}
	used := false
	ast.Inspect(u.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BinaryExpr:
			if x, ok := ast.Unparen(n.X).(*ast.Ident); ok && (n.Op == token.EQL || n.Op == token.NEQ) {
				compared[x] = true
			}
		case *ast.AssignStmt:
			for _, to := range n.Lhs {
				if x, ok := to.(*ast.Ident); ok {
					compared[x] = true
				}
			}
		case *ast.Ident:
			used = used || c.pass.TypesInfo.ObjectOf(n) == v && !compared[n]
		}
		return !used
	})
	return !used
}

// lateContinues reports ContinueAsNew in code whose handlers change what it carries over: what a handler changes after the call is lost.
func (c *checker) lateContinues(units []*unit) {
	reported := map[token.Pos]bool{}
	for _, u := range units {
		if u.kind != code || strings.HasPrefix(u.what, "orchestration.Handle") {
			continue
		}
		handler, calls := c.handlersAndContinues(u.body, map[*ast.BlockStmt]bool{})
		if handler == "" {
			continue
		}
		for _, call := range calls {
			if reported[call.Pos()] {
				continue
			}
			reported[call.Pos()] = true
			c.reportf(ruleLate, call.Pos(), "%s in code with a handler that changes %s: what it changes after the call is lost; use %s",
				continueNow, handler, continueLate)
		}
	}
}

// handlersAndContinues returns what a handler changes of the code, or "", and the calls of ContinueAsNew, in a body and in the functions of this
// package that it calls with its Context.
func (c *checker) handlersAndContinues(body *ast.BlockStmt, seen map[*ast.BlockStmt]bool) (changed string, calls []*ast.CallExpr) {
	if seen[body] {
		return "", nil
	}
	seen[body] = true
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		fn := c.callee(call)
		switch {
		case ofOrchestration(fn, continueNow):
			calls = append(calls, call)
		case ofOrchestration(fn, "HandleEvent", "HandleUpdate") && len(call.Args) > 2:
			if of := c.handlerChanges(call.Args[2]); of != "" {
				changed = of
			}
		case fn != nil && c.decls[fn] != nil && takesContext(fn.Signature()):
			of, more := c.handlersAndContinues(c.decls[fn].Body, seen)
			calls = append(calls, more...)
			if of != "" {
				changed = of
			}
		}
		return true
	})
	return changed, calls
}

// handlerChanges returns the name of a variable around a handler that it changes, or "". The handler is a literal, or a method whose receiver is
// the variable.
func (c *checker) handlerChanges(handler ast.Expr) string {
	switch h := ast.Unparen(handler).(type) {
	case *ast.FuncLit:
		return c.changesOutside(h.Body, h)
	case *ast.SelectorExpr:
		if fn, ok := c.pass.TypesInfo.Uses[h.Sel].(*types.Func); ok && c.decls[fn.Origin()] != nil {
			return c.changesReceiver(c.decls[fn.Origin()])
		}
	}
	return ""
}
