package serverless

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader turns the nodes of a document into its tree, and notes all that is wrong with them.
type reader struct {
	findings    Findings
	budget      *budget
	scope       []string                 // variables of loops, listeners and catches around, with their $
	expressions int                      // so far
	branches    int                      // of forks, that the place is inside of
	nesting     int                      // lists of tasks that the place is inside of
	uses        map[documentID]*Document // that the document may run
	runs        []*Document              // those of them that it runs

	errors   map[string]*raised
	retries  map[string]*retry
	timeouts map[string]*duration

	activities, orchestrations map[string]bool
}

// object is a mapping of the document whose keys are taken one by one.
type object struct {
	*reader

	node  *yaml.Node
	ref   string
	keys  []*yaml.Node
	items map[string]*yaml.Node
	taken map[string]bool
}

// object reads a mapping. For other nodes it notes a finding and returns nil.
func (r *reader) object(n *yaml.Node, ref string) *object {
	if n.Kind != yaml.MappingNode {
		r.failf(n, ref, "%s stands here: an object is needed", describe(n))
		return nil
	}
	o := &object{reader: r, node: n, ref: ref, items: map[string]*yaml.Node{}, taken: map[string]bool{}}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if _, twice := o.items[key.Value]; twice {
			continue // plain has noted it
		}
		o.keys, o.items[key.Value] = append(o.keys, key), n.Content[i+1]
	}
	return o
}

// get takes a key. It returns nil if the object lacks it.
func (o *object) get(key string) *yaml.Node {
	o.taken[key] = true
	return o.items[key]
}

// need is get for a key that must be there.
func (o *object) need(key string) *yaml.Node {
	n := o.get(key)
	if n == nil {
		o.failf(o.node, o.ref, "%q is missing", key)
	}
	return n
}

// at returns the path of a key.
func (o *object) at(key string) string { return o.ref + "/" + escape(key) }

// done notes each key that nobody has taken, with the reason for its refusal if there is one.
func (o *object) done(refused map[string]string) {
	known := make([]string, 0, len(o.taken))
	for key := range o.taken {
		known = append(known, key)
	}
	slices.Sort(known)
	for _, key := range o.keys {
		switch reason := refused[key.Value]; {
		case o.taken[key.Value]:
		case reason != "":
			o.failf(key, o.at(key.Value), "%q is outside of the subset: %s", key.Value, reason)
		default:
			o.failf(key, o.at(key.Value), "%q is not known here: there are %s", key.Value, strings.Join(known, ", "))
		}
	}
}

// escape writes a key as a part of a JSON pointer.
func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// describe names the kind of a node for people.
func describe(n *yaml.Node) string {
	switch n.Kind { //nolint:exhaustive // all others are scalars
	case yaml.MappingNode:
		return "an object"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.Tag {
	case "!!str":
		return "a text"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "a boolean"
	case "!!null":
		return "nothing"
	default:
		return "a value of type " + n.Tag
	}
}

// plain notes all that YAML has and JSON has not, in a node and below: anchors, aliases, tags, keys that are no texts or come twice.
func (r *reader) plain(n *yaml.Node, ref string) {
	r.untagged(n, ref)
	switch {
	case n.Kind == yaml.AliasNode:
		r.failf(n, ref, "an alias stands here: write the value in its place")
		return
	case n.Anchor != "":
		r.failf(n, ref, "the anchor &%s is refused: write the value at each place", n.Anchor)
	}
	switch n.Kind { //nolint:exhaustive // aliases are refused, and documents stand at the top only
	case yaml.ScalarNode:
		if _, err := scalar(n); err != nil && n.Style&yaml.TaggedStyle == 0 {
			r.failf(n, ref, "%v", err)
		}
	case yaml.SequenceNode:
		for i, e := range n.Content {
			r.plain(e, ref+"/"+strconv.Itoa(i))
		}
	case yaml.MappingNode:
		seen := map[string]bool{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			r.untagged(key, ref)
			if key.Kind != yaml.ScalarNode || key.Tag != "!!str" {
				r.failf(key, ref, "%s is the key: put it in quotation marks", describe(key))
			} else if seen[key.Value] {
				r.failf(key, ref+"/"+escape(key.Value), "the key %q comes twice", key.Value)
			}
			seen[key.Value] = true
			r.plain(n.Content[i+1], ref+"/"+escape(key.Value))
		}
	}
}

// untagged notes an explicit tag, which JSON has not.
func (r *reader) untagged(n *yaml.Node, ref string) {
	if n.Style&yaml.TaggedStyle != 0 {
		r.failf(n, ref, "the tag %s is refused: leave it out", n.Tag)
	}
}

// scalar returns the value of a scalar, in the types of decode.
func scalar(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!!null":
		return nil, nil //nolint:nilnil // null is a value
	case "!!bool":
		return n.Value == "true" || n.Value == "True" || n.Value == "TRUE", nil
	case "!!str":
		return n.Value, nil
	case "!!int":
		if i, ok := new(big.Int).SetString(n.Value, 10); ok && i.BitLen() <= maxBits {
			return number(i.String())
		}
	case "!!float":
		if v, err := number(n.Value); err == nil {
			return v, nil
		}
	default:
		return nil, fmt.Errorf("%s stands here: put it in quotation marks to make it a text", describe(n))
	}
	return nil, fmt.Errorf("%s is no number of JSON: write it in digits, or put it in quotation marks to make it a text", n.Value)
}

// value returns a node as data. What plain has refused becomes null.
func value(n *yaml.Node) any {
	switch n.Kind { //nolint:exhaustive // aliases are refused, and documents stand at the top only
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, e := range n.Content {
			list[i] = value(e)
		}
		return list
	case yaml.MappingNode:
		fields := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			fields[n.Content[i].Value] = value(n.Content[i+1])
		}
		return fields
	}
	v, err := scalar(n)
	if err != nil {
		return nil
	}
	return v
}

// text reads a text that is no expression.
func (r *reader) text(n *yaml.Node, ref string) string {
	if n == nil {
		return ""
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		r.failf(n, ref, "%s stands here: a text is needed; put it in quotation marks", describe(n))
		return ""
	}
	if strings.Contains(n.Value, "${") {
		r.failf(n, ref, "an expression stands here: a plain text is needed")
	}
	return n.Value
}

// boolean reads a boolean that is no expression.
func (r *reader) boolean(n *yaml.Node, ref string) bool {
	if n == nil {
		return false
	}
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		r.failf(n, ref, "%s stands here: true or false is needed", describe(n))
	}
	return value(n) == true
}

// count reads an integer from 0 on.
func (r *reader) count(n *yaml.Node, ref string) int {
	if n == nil {
		return 0
	}
	i, ok := value(n).(int)
	if !ok || i < 0 {
		r.failf(n, ref, "an integer from 0 on is needed")
		return 0
	}
	return i
}
