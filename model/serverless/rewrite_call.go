package serverless

import (
	"fmt"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
)

// function returns the rewritten form of a call of a builtin, or of a variable.
func (w *rewriter) function(f *gojq.Func) *gojq.Term {
	if strings.HasPrefix(f.Name, "$") {
		w.variable(f.Name)
		return &gojq.Term{Type: gojq.TermTypeFunc, Func: f}
	}
	if f.Name == "now" && len(f.Args) == 0 {
		if !slices.Contains(w.uses, nowVariable) {
			w.uses = append(w.uses, nowVariable)
		}
		return name(nowVariable).Term
	}
	kind, ok := allowed[fmt.Sprintf("%s/%d", f.Name, len(f.Args))]
	if !ok {
		w.refuse(f)
		return &gojq.Term{Type: gojq.TermTypeFunc, Func: f}
	}
	args := make([]*gojq.Query, len(f.Args))
	if f.Name == "del" {
		return inParens(pipe(call(inputFunc), call(f.Name, w.deletion(f.Args[0])))).Term
	}
	for i, a := range f.Args {
		args[i] = w.query(a)
	}
	if f.Name == "pick" {
		return picked(args[0])
	}
	switch kind {
	case measured:
		for i := range args {
			args[i] = pipe(inParens(args[i]), call(inputFunc))
		}
		look := call(inputFunc)
		if textual[f.Name] {
			look = call(textFunc, quoted(f.Name))
		}
		return inParens(pipe(look, call(f.Name, args...))).Term
	case pathed:
		return inParens(pipe(call(inputFunc), call(f.Name, args...))).Term
	case valued:
		return w.valued(f.Name, args, -1)
	case replacing:
		args[1] = pipe(inParens(args[1]), call(inputFunc))
		return w.valued(f.Name, args, 1)
	case looked:
		return call(f.Name, pipe(inParens(args[0]), call(pathFunc))).Term
	case iterating:
		return iterated(f.Name, args)
	case indexing:
		return &gojq.Term{Type: gojq.TermTypeIndex, Index: indexed(args[0])}
	case free:
	}
	return call(f.Name, args...).Term
}

// valued evaluates the arguments of a builtin before a guard, which sees their values: operands("join"; .; a) as [$v0, $v1] | $v0 |
// join($v1). The argument at filter, if any, stays where it is.
func (w *rewriter) valued(of string, args []*gojq.Query, filter int) *gojq.Term {
	values, final := []*gojq.Query{quoted(of), identity()}, make([]*gojq.Query, len(args))
	bound := []*gojq.Pattern{{Name: "$__v0"}}
	for i, a := range args {
		if i == filter {
			final[i] = a
			continue
		}
		variable := fmt.Sprintf("$__v%d", len(bound))
		bound, values, final[i] = append(bound, &gojq.Pattern{Name: variable}), append(values, a), name(variable)
	}
	return inParens(&gojq.Query{
		Left: call(operandsFunc, values...), Op: gojq.OpPipe, Patterns: []*gojq.Pattern{{Array: bound}},
		Right: pipe(name("$__v0"), call(of, final...)),
	}).Term
}

// iterated returns the call of a builtin whose definition iterates over its input, with a guard before that.
func iterated(of string, args []*gojq.Query) *gojq.Term {
	switch {
	case of == "recurse":
		return recursion()
	case of == "map":
		return &gojq.Term{Type: gojq.TermTypeArray, Array: &gojq.Array{Query: pipe(iteration(), args[0])}}
	case len(args) == 0:
		return call(of, iteration(), identity()).Term
	default:
		return call(of, iteration(), args[0]).Term
	}
}

// iteration is .[] with a guard, which it binds: the input of a binding stays a path. The interpreter makes a list of all elements, and
// sorts the keys of an object, in one step.
func iteration() *gojq.Query {
	all := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity, SuffixList: []*gojq.Suffix{{Iter: true}}}}
	return inParens(&gojq.Query{Left: call(eachFunc), Op: gojq.OpPipe, Patterns: []*gojq.Pattern{{Name: "$__v9"}}, Right: all})
}

// recursion is the function recurse without arguments, with a guard before each iteration.
func recursion() *gojq.Term {
	all := iteration()
	all.Term.SuffixList = []*gojq.Suffix{{Optional: true}}
	return call("recurse", all).Term
}

// indexed puts a guard behind what stands in brackets.
func indexed(start *gojq.Query) *gojq.Index {
	return &gojq.Index{Start: pipe(start, call(indexFunc))}
}

// refuse notes a call of what is not allowed.
func (w *rewriter) refuse(f *gojq.Func) {
	var counts []string
	for one := range allowed {
		if of, count, _ := strings.Cut(one, "/"); of == f.Name {
			counts = append(counts, count)
		}
	}
	slices.Sort(counts)
	switch {
	case refusedFunctions[f.Name] != "":
		w.failf("%s is not allowed: %s", f.Name, refusedFunctions[f.Name])
	case len(counts) > 0:
		w.failf("%s takes %s arguments, not %d", f.Name, strings.Join(counts, " or "), len(f.Args))
	default:
		w.failf("%s is not among the allowed functions", f.Name)
	}
}

func call(of string, args ...*gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeFunc, Func: &gojq.Func{Name: of, Args: args}}}
}

func name(variable string) *gojq.Query { return call(variable) }

func identity() *gojq.Query { return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIdentity}} }

func quoted(text string) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeString, Str: &gojq.String{Str: text}}}
}

func element(n string) *gojq.Query {
	number := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeNumber, Number: n}}
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeIndex, Index: &gojq.Index{Start: number}}}
}

func pipe(l, r *gojq.Query) *gojq.Query { return &gojq.Query{Left: l, Op: gojq.OpPipe, Right: r} }

func inParens(q *gojq.Query) *gojq.Query {
	return &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeQuery, Query: q}}
}
