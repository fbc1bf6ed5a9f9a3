package perdurevet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// effectOf is something that orchestration code must not do, and that a function without a Context does for it.
type effectOf struct {
	Rule, Why, Instead string

	What  string // uses time.Now
	Place string // file.go:12
}

// effects are what a function does, at most one for each rule. They are the fact about a function of the main module.
type effects []effectOf

// AFact marks a fact.
func (*effects) AFact() {}

// String is for tests.
func (e *effects) String() string {
	all := make([]string, len(*e))
	for i, one := range *e {
		all[i] = one.What
	}
	return strings.Join(all, ", ")
}

// hasRule reports whether there is an effect of a rule.
func hasRule(e effects, rule string) bool {
	return slices.ContainsFunc(e, func(one effectOf) bool { return one.Rule == rule })
}

// site is a call of a function.
type site struct {
	fn *types.Func
	at token.Pos
}

// reach finds out what the functions of the package that have no Context do, themselves or by the functions that they call.
func (c *checker) reach(units []*unit) {
	calls := map[*types.Func][]site{}
	var order []*types.Func
	for _, u := range units {
		if u.kind != plain || u.fn == nil {
			continue
		}
		order = append(order, u.fn)
		c.direct(u, calls)
	}
	for again := true; again; {
		again = false
		for _, fn := range order {
			for _, called := range calls[fn] {
				for _, one := range c.effectsOf(called.fn) {
					if !hasRule(c.reached[fn], one.Rule) && !c.silenced(called.at) {
						c.reached[fn] = append(c.reached[fn], one)
						again = true
					}
				}
			}
		}
	}
	if !inModule(c.pass) {
		return
	}
	for _, fn := range order {
		if e := c.reached[fn]; len(e) > 0 && fn.Exported() {
			c.pass.ExportObjectFact(fn, &e)
		}
	}
}

// direct notes what a function itself does, and what it calls.
func (c *checker) direct(u *unit, calls map[*types.Func][]site) {
	ast.Inspect(u.body, func(n ast.Node) bool {
		for _, d := range c.deeds(n) {
			if d.here || c.silenced(d.at) || hasRule(c.reached[u.fn], d.rule) {
				continue
			}
			c.reached[u.fn] = append(c.reached[u.fn], effectOf{Rule: d.rule, Why: d.why, Instead: d.instead, What: d.what, Place: c.place(d.at)})
		}
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // who knows when it runs
		case *ast.CallExpr:
			if fn := c.callee(n); fn != nil && !c.excused[n] && !takesContext(fn.Signature()) {
				calls[u.fn] = append(calls[u.fn], site{fn, n.Pos()})
			}
			if lit, ok := ast.Unparen(n.Fun).(*ast.FuncLit); ok && !c.excused[n] { // it runs here
				c.direct(&unit{body: lit.Body, fn: u.fn}, calls)
			}
		}
		return true
	})
}

// effectsOf returns what a function without a Context does.
func (c *checker) effectsOf(fn *types.Func) effects {
	if fn.Pkg() == c.pass.Pkg {
		return c.reached[fn]
	}
	var e effects
	if fn.Pkg() == nil || !c.pass.ImportObjectFact(fn, &e) {
		return nil
	}
	return e
}

// followed reports what a function without a Context does that orchestration code calls.
func (c *checker) followed(call *ast.CallExpr) {
	fn := c.callee(call)
	if fn == nil || c.excused[call] || takesContext(fn.Signature()) {
		return
	}
	for _, one := range c.effectsOf(fn) {
		c.reportf(one.Rule, call.Pos(), "orchestration code calls %s, which %s (%s): %s; %s", c.nameOf(call, fn), one.What, one.Place, one.Why, one.Instead)
	}
}
