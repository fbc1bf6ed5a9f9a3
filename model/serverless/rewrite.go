package serverless

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// Names that rewritten expressions use. No document can: words of jq do not begin with a colon, and variables with $__ are refused.
const (
	operandsFunc = "_serverless_operands"
	inputFunc    = "_serverless_input"
	textFunc     = "_serverless_text"
	indexFunc    = "_serverless_index"
	pathFunc     = "_serverless_path"
	eachFunc     = "_serverless_each"
	beginFunc    = "_serverless_begin"
	ownFunc      = "_serverless_own"
	newFunc      = "_serverless_new"
	alongFunc    = "_serverless_along"
	nowVariable  = "$__now"
)

// rewriter checks the syntax tree of an expression against what is allowed, and puts guards before all that may take long or make
// something large in one step. The interpreter itself looks at its context between steps only.
type rewriter struct {
	global   []string // variables that the document gives, with their $
	local    []string // those that the expression has bound so far
	uses     []string // of global, and nowVariable
	problems []string
}

func (w *rewriter) failf(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(w.problems, text) {
		w.problems = append(w.problems, text)
	}
}

// query returns the rewritten form of a query.
func (w *rewriter) query(q *gojq.Query) *gojq.Query {
	if q == nil {
		return nil
	}
	if q.Meta != nil || len(q.Imports) > 0 {
		w.failf("modules are refused: write the expression here")
	}
	if len(q.FuncDefs) > 0 {
		w.failf("def is refused: an expression defines no functions")
		return q
	}
	if q.Term != nil {
		return &gojq.Query{Term: w.term(q.Term)}
	}
	if q.Left == nil || q.Right == nil {
		w.failf("the expression is empty: write . for the input")
		return q
	}
	switch q.Op {
	case gojq.OpPipe:
		left := w.query(q.Left)
		defer w.bind(q.Patterns)()
		return &gojq.Query{Left: left, Op: q.Op, Patterns: w.patterns(q.Patterns), Right: w.query(q.Right)}
	case gojq.OpComma, gojq.OpAnd, gojq.OpOr, gojq.OpAlt:
		return &gojq.Query{Left: w.query(q.Left), Op: q.Op, Right: w.query(q.Right)}
	case gojq.OpAssign:
		return changed(w.query(q.Right), w.change(q.Left, q.Op, name("$__v0")))
	case gojq.OpModify:
		return pipe(call(inputFunc), inParens(w.change(q.Left, q.Op, w.query(q.Right))))
	case gojq.OpUpdateAdd, gojq.OpUpdateSub, gojq.OpUpdateMul, gojq.OpUpdateDiv, gojq.OpUpdateMod:
		return w.update(q)
	case gojq.OpUpdateAlt:
		value := inParens(&gojq.Query{Left: identity(), Op: gojq.OpAlt, Right: name("$__v0")})
		return changed(w.query(q.Right), w.change(q.Left, gojq.OpModify, value))
	default:
		return w.operator(w.query(q.Left), q.Op, w.query(q.Right))
	}
}

// update turns an update such as a += b into b as $v | a |= (. + $v), so that its operator gets a guard.
func (w *rewriter) update(q *gojq.Query) *gojq.Query {
	ops := map[gojq.Operator]gojq.Operator{
		gojq.OpUpdateAdd: gojq.OpAdd, gojq.OpUpdateSub: gojq.OpSub, gojq.OpUpdateMul: gojq.OpMul, gojq.OpUpdateDiv: gojq.OpDiv,
		gojq.OpUpdateMod: gojq.OpMod,
	}
	value := inParens(w.operator(identity(), ops[q.Op], name("$__v0")))
	return changed(w.query(q.Right), w.change(q.Left, gojq.OpModify, value))
}

// changed measures the input of a change for each of its values, which the change sees as $__v0: each change copies the input.
func changed(value, change *gojq.Query) *gojq.Query {
	guarded := pipe(call(inputFunc), inParens(change))
	return &gojq.Query{Left: value, Op: gojq.OpPipe, Patterns: []*gojq.Pattern{{Name: "$__v0"}}, Right: guarded}
}

// operator puts a guard before a binary operator: operands("+"; a; b) | .[0] + .[1].
func (w *rewriter) operator(l *gojq.Query, op gojq.Operator, r *gojq.Query) *gojq.Query {
	text, number := literal(l)
	otherText, otherNumber := literal(r)
	compares := slices.Contains([]gojq.Operator{gojq.OpEq, gojq.OpNe, gojq.OpLt, gojq.OpLe, gojq.OpGt, gojq.OpGe}, op)
	if small := number || otherNumber; small && op != gojq.OpMul || compares && (text || otherText || small) {
		return &gojq.Query{Left: l, Op: op, Right: r}
	}
	guarded := call(operandsFunc, quoted(op.String()), l, r)
	return &gojq.Query{Left: guarded, Op: gojq.OpPipe, Right: &gojq.Query{Left: element("0"), Op: op, Right: element("1")}}
}

// literal says whether a query is a text, or a number or another constant of a few bytes.
func literal(q *gojq.Query) (text, small bool) {
	if q.Term == nil || len(q.Term.SuffixList) > 0 {
		return false, false
	}
	switch q.Term.Type {
	case gojq.TermTypeString:
		return q.Term.Str.Queries == nil, false
	case gojq.TermTypeNumber:
		return false, len(q.Term.Number) < 20
	case gojq.TermTypeNull, gojq.TermTypeTrue, gojq.TermTypeFalse:
		return false, true
	default:
		return false, false
	}
}

// term returns the rewritten form of a term.
func (w *rewriter) term(t *gojq.Term) *gojq.Term {
	out := *t
	switch t.Type { //nolint:exhaustive // all others stay as they are
	case gojq.TermTypeIndex:
		out.Index = w.index(t.Index)
	case gojq.TermTypeRecurse:
		out = *recursion()
	case gojq.TermTypeFunc:
		out = *w.function(t.Func)
	case gojq.TermTypeObject:
		out.Object = w.object(t.Object)
	case gojq.TermTypeArray:
		out.Array = &gojq.Array{Query: w.query(t.Array.Query)}
	case gojq.TermTypeUnary:
		out.Unary = &gojq.Unary{Op: t.Unary.Op, Term: w.term(t.Unary.Term)}
	case gojq.TermTypeFormat, gojq.TermTypeString:
		out = *w.text(t)
	case gojq.TermTypeIf:
		out.If = w.conditional(t.If)
	case gojq.TermTypeTry:
		out.Try = &gojq.Try{Body: w.query(t.Try.Body), Catch: w.query(t.Try.Catch)}
	case gojq.TermTypeReduce:
		r := t.Reduce
		query, start := w.query(r.Query), w.query(r.Start)
		done := w.bind(r.Patterns)
		out.Reduce = &gojq.Reduce{Query: query, Patterns: w.patterns(r.Patterns), Start: start, Update: w.query(r.Update)}
		done()
	case gojq.TermTypeForeach:
		f := t.Foreach
		query, start := w.query(f.Query), w.query(f.Start)
		done := w.bind(f.Patterns)
		out.Foreach = &gojq.Foreach{
			Query: query, Patterns: w.patterns(f.Patterns), Start: start, Update: w.query(f.Update), Extract: w.query(f.Extract),
		}
		done()
	case gojq.TermTypeLabel:
		out.Label = &gojq.Label{Ident: t.Label.Ident, Body: w.query(t.Label.Body)}
	case gojq.TermTypeQuery:
		out.Query = w.query(t.Query)
	}
	out.SuffixList = nil
	for _, s := range t.SuffixList {
		if s.Iter {
			base := out
			out = *inParens(pipe(&gojq.Query{Term: &base}, iteration())).Term
			continue
		}
		out.SuffixList = append(out.SuffixList, &gojq.Suffix{Index: w.index(s.Index), Optional: s.Optional})
	}
	return &out
}

// conditional returns the rewritten form of an if.
func (w *rewriter) conditional(i *gojq.If) *gojq.If {
	out := &gojq.If{Cond: w.query(i.Cond), Then: w.query(i.Then)}
	for _, e := range i.Elif {
		out.Elif = append(out.Elif, &gojq.IfElif{Cond: w.query(e.Cond), Then: w.query(e.Then)})
	}
	out.Else = w.query(i.Else)
	return out
}

// index returns the rewritten form of what stands in brackets or after a dot.
func (w *rewriter) index(x *gojq.Index) *gojq.Index {
	switch {
	case x == nil || x.Name != "":
		return x
	case x.Str != nil:
		if x.Str.Queries == nil {
			return x
		}
		return &gojq.Index{Start: &gojq.Query{Term: w.text(&gojq.Term{Type: gojq.TermTypeString, Str: x.Str})}}
	case x.IsSlice:
		return &gojq.Index{Start: w.query(x.Start), End: w.query(x.End), IsSlice: true}
	}
	start := w.query(x.Start)
	if text, _ := literal(start); text {
		return &gojq.Index{Start: start}
	}
	if _, small := literal(start); small && len(start.Term.Number) <= 1 {
		return &gojq.Index{Start: start}
	}
	return indexed(start)
}

// text returns the rewritten form of a text with expressions in it, and of a format: a sum of guarded pieces.
func (w *rewriter) text(t *gojq.Term) *gojq.Term {
	render := func(q *gojq.Query) *gojq.Query {
		return pipe(q, pipe(call(textFunc, quoted("tostring")), call("tostring")))
	}
	if t.Type == gojq.TermTypeFormat {
		if !formats[t.Format] {
			w.failf("the format %s is not allowed", t.Format)
		}
		format := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFormat, Format: t.Format}}
		render = func(q *gojq.Query) *gojq.Query { return pipe(q, pipe(call(textFunc, quoted(t.Format)), format)) }
		if t.Str == nil {
			return inParens(pipe(call(textFunc, quoted(t.Format)), format)).Term
		}
	}
	if t.Str.Queries == nil {
		return &gojq.Term{Type: gojq.TermTypeString, Str: t.Str}
	}
	var sum *gojq.Query
	for _, q := range t.Str.Queries {
		piece := q
		if q.Term == nil || q.Term.Str == nil {
			piece = inParens(render(w.query(q)))
		}
		if sum == nil {
			sum = piece
		} else {
			sum = inParens(w.operator(sum, gojq.OpAdd, piece))
		}
	}
	return inParens(sum).Term
}

// object returns the rewritten form of the construction of an object.
func (w *rewriter) object(o *gojq.Object) *gojq.Object {
	out := &gojq.Object{}
	for _, kv := range o.KeyVals {
		next := &gojq.ObjectKeyVal{Key: kv.Key, KeyString: kv.KeyString, KeyQuery: w.query(kv.KeyQuery), Val: w.query(kv.Val)}
		if strings.HasPrefix(kv.Key, "$") {
			w.variable(kv.Key)
		}
		if s := kv.KeyString; s != nil && s.Queries != nil {
			if next.KeyString = nil; kv.Val == nil {
				w.failf("a key with an expression in it needs a value")
			}
			next.KeyQuery = &gojq.Query{Term: w.text(&gojq.Term{Type: gojq.TermTypeString, Str: s})}
		}
		out.KeyVals = append(out.KeyVals, next)
	}
	return out
}

// bind notes the variables of patterns until the function that it returns is called.
func (w *rewriter) bind(patterns []*gojq.Pattern) (done func()) {
	before := len(w.local)
	for _, p := range patterns {
		w.bindOne(p)
	}
	return func() { w.local = w.local[:before] }
}

func (w *rewriter) bindOne(p *gojq.Pattern) {
	if p == nil {
		return
	}
	names := []string{p.Name}
	for _, e := range p.Array {
		w.bindOne(e)
	}
	for _, e := range p.Object {
		if strings.HasPrefix(e.Key, "$") {
			names = append(names, e.Key)
		}
		w.bindOne(e.Val)
	}
	for _, one := range names {
		if strings.HasPrefix(one, "$__") {
			w.failf("the variable %s is reserved: names do not begin with __", one)
		}
		if one != "" {
			w.local = append(w.local, one)
		}
	}
}

// patterns returns the rewritten form of patterns.
func (w *rewriter) patterns(list []*gojq.Pattern) []*gojq.Pattern {
	out := make([]*gojq.Pattern, 0, len(list))
	for _, p := range list {
		next := &gojq.Pattern{Name: p.Name, Array: w.patterns(p.Array)}
		for _, e := range p.Object {
			if e.KeyString != nil && e.KeyString.Queries != nil {
				w.failf("a key of a pattern is a plain text")
				continue
			}
			field := &gojq.PatternObject{Key: e.Key, KeyString: e.KeyString, KeyQuery: w.query(e.KeyQuery)}
			if e.Val != nil {
				field.Val = w.patterns([]*gojq.Pattern{e.Val})[0]
			}
			next.Object = append(next.Object, field)
		}
		out = append(out, next)
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// variable notes the use of a variable.
func (w *rewriter) variable(of string) {
	switch {
	case slices.Contains(w.local, of) || slices.Contains(w.uses, of):
	case slices.Contains(w.global, of):
		w.uses = append(w.uses, of)
	case refusedVariables[of] != "":
		w.failf("%s is not allowed: %s", of, refusedVariables[of])
	case refusedFunctions[of] != "":
		w.failf("%s is not allowed: %s", of, refusedFunctions[of])
	default:
		w.failf("there is no variable %s here: there are %s", of, strings.Join(w.global, ", "))
	}
}
