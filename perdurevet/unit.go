package perdurevet

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// kind says what the code of a function is.
type kind int

const (
	plain     kind = iota // it has no Context; it matters if orchestration code calls it
	code                  // orchestration code
	reader                // the function of a query, or a validator: it may read, and is not replayed
	condition             // the function of Await: orchestration code that may only read
	effect                // the function of a side effect: its result is recorded
	free                  // an activity, or a goroutine that is reported as one: it may do anything
)

// unit is a function: a declared one or a literal. It has the literals in it that have no kind of their own.
type unit struct {
	kind  kind
	what  string // that takes the literal: ctx.Go, orchestration.HandleEvent and so on
	typ   *ast.FuncType
	body  *ast.BlockStmt
	outer *unit // that it stands in
	fn    *types.Func
}

// literal is what the call around it says of a function literal.
type literal struct {
	kind kind
	what string
}

// declared returns the functions of a package that have a body.
func declared(pass *analysis.Pass) map[*types.Func]*ast.FuncDecl {
	decls := map[*types.Func]*ast.FuncDecl{}
	for _, file := range pass.Files {
		for _, d := range file.Decls {
			if decl, ok := d.(*ast.FuncDecl); ok && decl.Body != nil {
				if fn, ok := pass.TypesInfo.Defs[decl.Name].(*types.Func); ok {
					decls[fn] = decl
				}
			}
		}
	}
	return decls
}

// collect returns the functions of the package, each after those that it stands in.
func (c *checker) collect() []*unit {
	var units []*unit
	for _, file := range c.pass.Files {
		ast.Inspect(file, func(n ast.Node) bool {
			c.note(n)
			return true
		})
	}
	for _, file := range c.pass.Files {
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				fn, ok := c.pass.TypesInfo.Defs[d.Name].(*types.Func)
				if !ok || d.Body == nil {
					continue
				}
				u := &unit{kind: plain, typ: d.Type, body: d.Body, fn: fn}
				if takesContext(fn.Signature()) {
					u.kind = code
				}
				units = c.below(append(units, u), u, d.Body)
			case *ast.GenDecl:
				units = c.below(units, nil, d)
			}
		}
	}
	return units
}

// note remembers which variables hold literals, and which literals a call takes for a purpose.
func (c *checker) note(n ast.Node) {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if len(n.Lhs) == len(n.Rhs) {
			for i, to := range n.Lhs {
				c.hold(to, n.Rhs[i])
			}
		}
	case *ast.ValueSpec:
		if len(n.Names) == len(n.Values) {
			for i, to := range n.Names {
				c.hold(to, n.Values[i])
			}
		}
	case *ast.CommClause:
		c.noteCase(n.Comm)
	case *ast.GoStmt:
		c.excused[n.Call] = true
		if lit, ok := ast.Unparen(n.Call.Fun).(*ast.FuncLit); ok {
			c.taken[lit] = literal{free, "go"}
		}
	case *ast.CallExpr:
		c.noteCall(n)
	}
}

// noteCase remembers that a channel is used in a case of a select, which is reported as a whole.
func (c *checker) noteCase(comm ast.Stmt) {
	switch s := comm.(type) {
	case *ast.SendStmt:
		c.selected[s] = true
	case *ast.ExprStmt:
		c.selected[ast.Unparen(s.X)] = true
	case *ast.AssignStmt:
		c.selected[ast.Unparen(s.Rhs[0])] = true
	}
}

// noteCall remembers what a call takes its functions for.
func (c *checker) noteCall(call *ast.CallExpr) {
	fn := c.callee(call)
	role, ok := roleOf(fn)
	if !ok {
		return
	}
	for _, arg := range call.Args {
		switch arg := ast.Unparen(arg).(type) {
		case *ast.FuncLit:
			c.taken[arg] = literal{role, display(fn)}
		case *ast.Ident:
			c.excused[arg] = role == effect
		case *ast.SelectorExpr:
			c.excused[arg.Sel] = role == effect
		}
	}
}

// hold remembers that a variable holds a literal.
func (c *checker) hold(to ast.Expr, value ast.Expr) {
	id, ok := to.(*ast.Ident)
	lit, is := ast.Unparen(value).(*ast.FuncLit)
	if !ok || !is {
		return
	}
	if v, ok := c.pass.TypesInfo.ObjectOf(id).(*types.Var); ok {
		c.literals[v] = lit
	}
}

// roleOf returns what the literals are that a function takes.
func roleOf(fn *types.Func) (kind, bool) {
	switch {
	case ofOrchestration(fn, "HandleQuery", "Validate"):
		return reader, true
	case ofOrchestration(fn, "Await"):
		return condition, true
	case ofOrchestration(fn, "SideEffect"):
		return effect, true
	case ofOrchestration(fn, "HandleEvent", "HandleUpdate", "Go", "Map", "Undo"):
		return code, true
	case fn != nil && goroutineStarter(fn):
		return free, true
	}
	return plain, false
}

// below appends the literals below a node that have a kind of their own.
func (c *checker) below(units []*unit, outer *unit, node ast.Node) []*unit {
	ast.Inspect(node, func(n ast.Node) bool {
		lit, ok := n.(*ast.FuncLit)
		if !ok {
			return true
		}
		u := &unit{typ: lit.Type, body: lit.Body, outer: outer}
		u.kind, u.what, ok = c.own(lit)
		if !ok {
			return true
		}
		units = c.below(append(units, u), u, lit.Body)
		return false
	})
	return units
}

// own returns the kind of a literal. ok is false if it has that of the function around it.
func (c *checker) own(lit *ast.FuncLit) (k kind, what string, ok bool) {
	if taken, found := c.taken[lit]; found {
		return taken.kind, taken.what, true
	}
	s, isFunc := c.pass.TypesInfo.TypeOf(lit).(*types.Signature)
	switch {
	case !isFunc:
		return plain, "", false
	case takesContext(s):
		return code, "", true
	case s.Params().Len() > 0 && isGoContext(s.Params().At(0).Type()):
		return free, "", true
	}
	return plain, "", false
}

// inspect walks over the code of a unit, without the literals that are units of their own.
func (c *checker) inspect(node ast.Node, visit func(ast.Node) bool) {
	ast.Inspect(node, func(n ast.Node) bool {
		if lit, ok := n.(*ast.FuncLit); ok {
			if _, _, own := c.own(lit); own {
				return false
			}
		}
		return visit(n)
	})
}
