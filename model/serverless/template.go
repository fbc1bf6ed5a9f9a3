package serverless

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// template is data of the document with expressions in it.
type template struct {
	literal any         // without the others
	expr    *expression // the whole value
	fields  map[string]*template
	list    []*template
}

// Variables of the standard, by where an expression stands.
//
//nolint:gochecknoglobals // constant tables
var (
	ofWorkflowInput  = []string{"$workflow", "$runtime"}
	ofWorkflowOutput = []string{"$context", "$workflow", "$runtime"}
	ofTaskInput      = []string{"$context", "$task", "$workflow", "$runtime"}
	ofTask           = []string{"$context", "$input", "$task", "$workflow", "$runtime"}
	ofTaskExport     = []string{"$context", "$input", "$output", "$task", "$workflow", "$runtime"}
)

// refusedVariables are variables of the standard that no expression has.
//
//nolint:gochecknoglobals // constant table
var refusedVariables = map[string]string{
	"$secrets":       "secrets would be stored in histories: let the activity read them",
	"$authorization": "no call has an authorization: let the activity authorize itself",
}

// expression compiles the text of a node. Where only expressions can stand, the ${ } around it may be left out.
func (r *reader) expression(n *yaml.Node, ref string, names []string) *expression {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		r.failf(n, ref, "%s stands here: an expression is needed", describe(n))
		return nil
	}
	if r.expressions++; r.expressions > maxExpressions {
		if r.expressions == maxExpressions+1 {
			r.failf(n, ref, "this expression is one too many: a document has at most %d; move a part to a document of its own", maxExpressions)
		}
		return nil
	}
	source := strings.TrimSpace(n.Value)
	if inner, ok := unwrap(source); ok {
		source = inner
	}
	e, problems := compile(source, ref, append(append([]string{}, names...), r.scope...), r.budget)
	for _, p := range problems {
		r.failf(n, ref, "%s", p)
	}
	return e
}

// template reads data with expressions in it. A text is an expression only in ${ }, as a whole.
func (r *reader) template(n *yaml.Node, ref string, names []string) *template {
	if n == nil {
		return nil
	}
	switch n.Kind { //nolint:exhaustive // aliases are refused, and documents stand at the top only
	case yaml.MappingNode:
		fields := make(map[string]*template, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			fields[key] = r.template(n.Content[i+1], ref+"/"+escape(key), names)
		}
		return &template{fields: fields}
	case yaml.SequenceNode:
		list := make([]*template, len(n.Content))
		for i, e := range n.Content {
			list[i] = r.template(e, ref+"/"+strconv.Itoa(i), names)
		}
		return &template{list: list}
	}
	if n.Tag == "!!str" {
		if _, ok := unwrap(n.Value); ok {
			return &template{expr: r.expression(n, ref, names)}
		}
		if strings.Contains(n.Value, "${") {
			r.failf(n, ref, `an expression is part of a text: make all of it one expression, as ${ "Hello \(.name)" }`)
		}
	}
	return &template{literal: value(n)}
}

// either reads what is a template if it is an object or list, and an expression with or without ${ } if it is a text.
func (r *reader) either(n *yaml.Node, ref string, names []string) *template {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.ScalarNode {
		return &template{expr: r.expression(n, ref, names)}
	}
	return r.template(n, ref, names)
}

// evaluate returns the data with the results of its expressions.
func (t *template) evaluate(input any, vars variables) (_ any, err error) {
	switch {
	case t.expr != nil:
		return t.expr.evaluate(input, vars)
	case t.fields != nil:
		fields := make(map[string]any, len(t.fields))
		for _, key := range sortedKeys(t.fields) {
			if fields[key], err = t.fields[key].evaluate(input, vars); err != nil {
				return nil, err
			}
		}
		return fields, nil
	case t.list != nil:
		list := make([]any, len(t.list))
		for i, e := range t.list {
			if list[i], err = e.evaluate(input, vars); err != nil {
				return nil, err
			}
		}
		return list, nil
	default:
		return t.literal, nil
	}
}
