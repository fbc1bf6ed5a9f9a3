package serverless

import (
	"fmt"
	"slices"

	"github.com/itchyny/gojq"
)

// change is what the budget knows of one change while it runs. The interpreter copies each list and object once on the way to what
// changes, and writes into its own copy from then on. It forgets which copies are its own when a path leads to a list or object that is
// one, and it copies the whole list for each slice.
type change struct {
	copies bool // a path may copy again what an earlier one has copied
	put    int  // elements of the value that each path gets
	grown  int  // elements that the change has added so far, at most
}

// change returns a change with guards, unless all of its paths are equally deep and have no slices: then nothing is copied twice.
// The value is $__v0 or a filter.
func (w *rewriter) change(left *gojq.Query, op gojq.Operator, value *gojq.Query) *gojq.Query {
	paths := w.query(left)
	if _, fixed := depth(left); fixed {
		return &gojq.Query{Left: paths, Op: op, Right: value}
	}
	put := value
	if op == gojq.OpModify {
		put = &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeNull}}
		value = inParens(&gojq.Query{
			Left: identity(), Op: gojq.OpPipe, Patterns: []*gojq.Pattern{{Name: "$__old"}},
			Right: pipe(pipe(call(ownFunc), inParens(value)), call(newFunc, name("$__change"), name("$__old"))),
		})
	}
	return begun(put, &gojq.Query{Left: alongside(paths), Op: op, Right: value})
}

// deletion is the argument of del with guards, as for a change that puts nothing.
func (w *rewriter) deletion(of *gojq.Query) *gojq.Query {
	paths := w.query(of)
	if _, fixed := depth(of); fixed {
		return paths
	}
	return begun(&gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeNull}}, alongside(paths))
}

// begun counts the copies of a query as those of one change, in which a value is put.
func begun(put, q *gojq.Query) *gojq.Query {
	return inParens(&gojq.Query{
		Left: call(beginFunc, put), Op: gojq.OpPipe, Patterns: []*gojq.Pattern{{Name: "$__change"}}, Right: q,
	})
}

// alongside puts a guard before each path: path(f) as $p | along($p) as $x | getpath($p). The input of a binding stays a path.
func alongside(paths *gojq.Query) *gojq.Query {
	got := &gojq.Query{
		Left: call(alongFunc, name("$__path"), name("$__change")), Op: gojq.OpPipe, Patterns: []*gojq.Pattern{{Name: "$__v9"}},
		Right: call("getpath", name("$__path")),
	}
	return inParens(&gojq.Query{Left: call("path", paths), Op: gojq.OpPipe, Patterns: []*gojq.Pattern{{Name: "$__path"}}, Right: got})
}

// picked is the definition of pick with a guard, as each of its steps copies what it has made: . as $from | reduce path(f) as $p (null;
// along($p) as $x | setpath($p; $from | getpath($p))).
func picked(paths *gojq.Query) *gojq.Term {
	set := &gojq.Query{
		Left: call(alongFunc, name("$__path")), Op: gojq.OpPipe, Patterns: []*gojq.Pattern{{Name: "$__v9"}},
		Right: call("setpath", name("$__path"), pipe(name("$__from"), call("getpath", name("$__path")))),
	}
	all := &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeReduce, Reduce: &gojq.Reduce{
		Query: call("path", paths), Patterns: []*gojq.Pattern{{Name: "$__path"}},
		Start: &gojq.Query{Term: &gojq.Term{Type: gojq.TermTypeNull}}, Update: set,
	}}}
	return inParens(&gojq.Query{
		Left: call(inputFunc), Op: gojq.OpPipe,
		Right: &gojq.Query{Left: identity(), Op: gojq.OpPipe, Patterns: []*gojq.Pattern{{Name: "$__from"}}, Right: all},
	}).Term
}

// begin notes a change, and returns its number.
func (b *budget) begin(_ any, args []any) any {
	c := change{copies: container(args[0])}
	if c.copies {
		c.put = b.measure(args[0]) >> 3
	}
	b.changes = append(b.changes, c)
	return len(b.changes) - 1
}

// own returns a copy of a list. The interpreter gives a filter a slice of the list that it writes to: the result would hold itself.
func (b *budget) own(v any, _ []any) any {
	if list, ok := v.([]any); ok {
		b.charge(len(list) >> 4)
		return slices.Clone(list)
	}
	return v
}

// changed measures the new value and the old one. Its result is the new one.
func (b *budget) changed(v any, args []any) any {
	c := b.change(args[0])
	c.copies = c.copies || container(args[1])
	c.grown += max(0, b.measure(v)-b.measure(args[1])) >> 3
	return v
}

func (b *budget) change(number any) *change {
	n, _ := gojq.ToInt(number)
	return &b.changes[n]
}

// along charges for the copies that an update makes on a path. Without a number of a change, it copies all on the path.
func (b *budget) along(v any, args []any) any {
	c := &change{copies: true}
	if len(args) > 1 {
		c = b.change(args[1])
	}
	path, _ := args[0].([]any)
	b.copied(v, path, c)
	if c.grown += c.put; c.copies {
		b.charge(c.grown >> 4)
	}
	return nil
}

func (b *budget) copied(v any, path []any, c *change) {
	b.charge(1)
	for i, e := range path {
		switch e := e.(type) {
		case string:
			fields, _ := v.(map[string]any)
			if c.copies {
				b.charge(len(fields) >> 1)
			}
			v = fields[e]
		case map[string]any:
			// A slice copies all of its list. What is below it is counted as a whole.
			b.sliced(v, path[i+1:], c)
			return
		default:
			list, _ := v.([]any)
			if c.copies {
				b.charge(len(list) >> 4)
			}
			n, _ := gojq.ToInt(e)
			if n < 0 {
				n += len(list)
			}
			if v = nil; n >= 0 && n < len(list) {
				v = list[n]
			}
		}
	}
}

// sliced charges for a slice of a list, and for the rest of the path.
func (b *budget) sliced(v any, rest []any, c *change) {
	list, _ := v.([]any)
	elements := len(list)
	for _, e := range rest {
		if _, slice := e.(map[string]any); slice {
			elements += len(list) // of the same list or of one below it, which the measure counts
		} else if n, ok := gojq.ToInt(e); ok {
			c.grown += max(0, n)
		}
	}
	if len(rest) > 0 {
		elements += b.measure(v) >> 3 * len(rest)
	}
	c.grown++
	b.charge((elements + c.grown) >> 4)
}

// deep charges for the slices in paths that a builtin takes as values.
func (b *budget) deep(v any, paths ...any) {
	var c change
	for _, p := range paths {
		path, _ := p.([]any)
		b.copied(v, path, &c)
	}
}

func container(v any) bool {
	switch v.(type) {
	case []any, map[string]any:
		return true
	default:
		return false
	}
}

// depth returns how long the paths are that a query returns, and whether all are equally long and have no slice. It says no where it
// does not know.
func depth(q *gojq.Query) (n int, fixed bool) {
	switch {
	case q == nil || len(q.FuncDefs) > 0:
		return 0, false
	case q.Term != nil:
		return termDepth(q.Term)
	case q.Left == nil || q.Right == nil:
		return 0, false
	}
	n, fixed = depth(q.Right)
	if q.Op == gojq.OpPipe && len(q.Patterns) > 0 {
		return n, fixed // the left side is bound
	}
	m, also := depth(q.Left)
	switch q.Op {
	case gojq.OpPipe:
		return n + m, fixed && also
	case gojq.OpComma, gojq.OpAlt:
		return n, fixed && also && n == m
	default:
		return 0, false
	}
}

func termDepth(t *gojq.Term) (n int, fixed bool) {
	switch t.Type { //nolint:exhaustive // of all others it does not know
	case gojq.TermTypeIdentity:
		fixed = true
	case gojq.TermTypeIndex:
		n, fixed = 1, !t.Index.IsSlice
	case gojq.TermTypeQuery:
		n, fixed = depth(t.Query)
	case gojq.TermTypeTry:
		n, fixed = depth(t.Try.Body)
		fixed = fixed && t.Try.Catch == nil
	case gojq.TermTypeFunc:
		n, fixed = funcDepth(t.Func)
	}
	for _, s := range t.SuffixList {
		if s.Iter || s.Index != nil {
			n++
		}
		fixed = fixed && (s.Index == nil || !s.Index.IsSlice)
	}
	return n, fixed
}

func funcDepth(f *gojq.Func) (n int, fixed bool) {
	switch fmt.Sprintf("%s/%d", f.Name, len(f.Args)) {
	case "first/1", "last/1":
		return depth(f.Args[0])
	case "limit/2":
		return depth(f.Args[1])
	case "first/0", "last/0", "nth/1":
		return 1, true
	case "select/1", "arrays/0", "objects/0", "iterables/0", "booleans/0", "numbers/0", "strings/0", "nulls/0", "values/0", "scalars/0":
		return 0, true
	default:
		return 0, false
	}
}
