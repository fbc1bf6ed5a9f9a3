package serverless

import (
	"errors"
	"strings"

	"github.com/itchyny/gojq"
)

// expression is a compiled expression of a document.
type expression struct {
	source string
	ref    string   // its place in the document
	uses   []string // variables that it needs, with their $
	code   *gojq.Code
	budget *budget
}

// variables give the values of variables, by their names with the $.
type variables func(name string) any

// compile checks an expression, and compiles its guarded form. The problems are those that its author can mend.
func compile(source, ref string, names []string, b *budget) (_ *expression, problems []string) {
	if len(source) > maxExpression {
		return nil, []string{"the expression has more than 8 KiB: split it"}
	}
	q, err := gojq.Parse(source)
	if err != nil {
		return nil, []string{"the expression is no jq: " + err.Error()}
	}
	w := &rewriter{global: names}
	q = w.query(q)
	if len(w.problems) > 0 {
		return nil, w.problems
	}
	code, err := gojq.Compile(q,
		gojq.WithVariables(w.uses),
		gojq.WithFunction(operandsFunc, 2, 6, b.operands),
		gojq.WithFunction(inputFunc, 0, 0, b.input),
		gojq.WithFunction(textFunc, 1, 1, b.text),
		gojq.WithFunction(indexFunc, 0, 0, b.index),
		gojq.WithFunction(pathFunc, 0, 0, b.path),
		gojq.WithFunction(eachFunc, 0, 0, b.each),
		gojq.WithFunction(beginFunc, 1, 1, b.begin),
		gojq.WithFunction(ownFunc, 0, 0, b.own),
		gojq.WithFunction(newFunc, 2, 2, b.changed),
		gojq.WithFunction(alongFunc, 1, 2, b.along),
	)
	if err != nil {
		return nil, []string{"the expression is no jq: " + err.Error()}
	}
	return &expression{source: source, ref: ref, uses: w.uses, code: code, budget: b}, nil
}

// evaluate returns the one result of the expression, null if it has none. The error is one that the document can catch: it follows from
// the expression and its input alone. What is over a limit panics with a *LimitError.
func (e *expression) evaluate(input any, vars variables) (result any, err error) {
	defer func() {
		// The panic of a limit does not know where it is. No other panic is touched.
		if p := recover(); p != nil {
			if limit, ok := p.(*LimitError); ok && limit.Path == "" {
				limit.Path, limit.Text = e.ref, "expression "+gojq.Preview(e.source)+": "+limit.Text
			}
			panic(p)
		}
	}()
	e.budget.longest, e.budget.changes = 0, nil
	e.budget.measure(input)
	values := make([]any, len(e.uses))
	for i, of := range e.uses {
		values[i] = vars(of)
		e.budget.measure(values[i])
	}
	results := e.code.RunWithContext(e.budget, input, values...)
	result, ok := results.Next()
	if err, failed := result.(error); failed {
		return nil, err
	}
	if !ok {
		return nil, nil //nolint:nilnil // no result is null
	}
	if next, more := results.Next(); more {
		if err, failed := next.(error); failed {
			return nil, err
		}
		return nil, errors.New("the expression has more than one result: put it in [ ]")
	}
	e.budget.measure(result)
	return decode(encode(result))
}

// unwrap returns the expression in ${ }, if text is one.
func unwrap(text string) (source string, ok bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "${") || !strings.HasSuffix(text, "}") {
		return "", false
	}
	return strings.TrimSpace(text[2 : len(text)-1]), true
}
