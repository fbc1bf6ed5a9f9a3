package serverless

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxNesting is how deep lists of tasks may stand in each other.
const maxNesting = 32

// kinds are the keys that say what a task does.
//
//nolint:gochecknoglobals // constant table
var kinds = []string{"call", "do", "emit", "for", "fork", "listen", "raise", "run", "set", "switch", "try", "wait"}

// refusedTasks says why a kind of task is outside of the subset.
//
//nolint:gochecknoglobals // constant table
var refusedTasks = map[string]string{"emit": "there is no broker: call an activity that publishes the event"}

// tasks reads a list of tasks, each an object of one name.
func (r *reader) tasks(n *yaml.Node, ref string) []*task {
	r.nesting++
	defer func() { r.nesting-- }()
	if r.nesting > maxNesting {
		r.failf(n, ref, "tasks are nested too deep: run a part of them as a document of its own")
		return nil
	}
	named := r.names(n, ref, "task")
	list := make([]*task, 0, len(named))
	places := map[string]int{}
	for i, t := range named {
		places[t.name] = i
	}
	for _, t := range named {
		list = append(list, r.task(t, places))
	}
	return list
}

// named is an element of a list whose elements are objects of one key.
type named struct {
	name, ref string
	node      *yaml.Node
}

// names reads a list whose elements are objects of one key.
func (r *reader) names(n *yaml.Node, ref, of string) (list []named) {
	if n.Kind != yaml.SequenceNode {
		r.failf(n, ref, "%s stands here: a list of objects is needed, each with the name of one %s", describe(n), of)
		return nil
	}
	if len(n.Content) == 0 {
		r.failf(n, ref, "the list is empty: at least one %s is needed", of)
	}
	seen := map[string]bool{}
	for i, e := range n.Content {
		at := ref + "/" + strconv.Itoa(i)
		if e.Kind != yaml.MappingNode || len(e.Content) != 2 {
			r.failf(e, at, "an object with the name of one %s is needed", of)
			continue
		}
		name := e.Content[0].Value
		if seen[name] {
			r.failf(e.Content[0], at+"/"+escape(name), "the list has two of the name %q", name)
		}
		if seen[name] = true; slices.Contains([]string{"continue", "exit", "end"}, name) {
			r.failf(e.Content[0], at+"/"+escape(name), "%q is a word of then: choose another name", name)
		}
		list = append(list, named{name, at + "/" + escape(name), e.Content[1]})
	}
	return list
}

// task reads one task.
func (r *reader) task(of named, places map[string]int) *task {
	t := &task{name: of.name, ref: of.ref, definition: value(of.node)}
	o := r.object(of.node, of.ref)
	if o == nil {
		return t
	}
	t.cond = r.expression(o.get("if"), o.at("if"), ofTaskInput)
	t.from = r.input(o, ofTaskInput)
	t.as = r.output(o, ofTask)
	t.export = r.data(o, "export", "as", ofTaskExport)
	t.timeout = r.timeout(o)
	t.then = r.then(o.get("then"), o.at("then"), places)
	o.get("metadata")
	t.work = r.work(o, places)
	return t
}

// work reads what a task does.
func (r *reader) work(o *object, places map[string]int) work {
	var found []string
	for _, k := range kinds {
		if _, ok := o.items[k]; ok && (k != "do" || o.items["for"] == nil) {
			found = append(found, k)
		}
	}
	if len(found) != 1 {
		o.failf(o.node, o.ref, "a task has exactly one of %s: this one has %d of them", strings.Join(kinds, ", "), len(found))
		return nil
	}
	kind := found[0]
	n, ref := o.get(kind), o.at(kind)
	if reason := refusedTasks[kind]; reason != "" {
		r.failf(n, ref, "%q is outside of the subset: %s", kind, reason)
		return nil
	}
	w := r.workOf(kind, o, n, places)
	refused := map[string]string{"catch": "it belongs to try", "with": "it belongs to call", "while": "it belongs to for"}
	if kind == "listen" {
		refused["foreach"] = "give the list of events to a task for"
	}
	o.done(refused)
	return w
}

// workOf reads the part of one kind of task.
func (r *reader) workOf(kind string, o *object, n *yaml.Node, places map[string]int) work {
	ref := o.at(kind)
	switch kind {
	case "do":
		return &doWork{r.tasks(n, ref)}
	case "set":
		if n.Kind == yaml.ScalarNode {
			return &setWork{&template{expr: r.expression(n, ref, ofTask)}}
		}
		if n.Kind == yaml.SequenceNode {
			r.failf(n, ref, "a list stands here: an object or an expression is needed")
		}
		return &setWork{r.template(n, ref, ofTask)}
	case "switch":
		return r.cases(n, ref, places)
	case "for":
		return r.loop(o, n, ref)
	case "fork":
		return r.fork(n, ref)
	case "try":
		return r.try(o, n, ref)
	case "raise":
		return r.raise(n, ref)
	case "wait":
		return &waitWork{r.duration(n, ref, ofTask)}
	case "listen":
		return r.listen(n, ref)
	case "call":
		return r.call(o, n, ref)
	default:
		return r.child(n, ref)
	}
}

// then reads a directive.
func (r *reader) then(n *yaml.Node, ref string, places map[string]int) directive {
	if n == nil {
		return directive{}
	}
	switch to := r.text(n, ref); to {
	case "continue", "":
		return directive{}
	case "exit":
		return directive{flow: flowExit}
	case "end":
		if r.branches > 0 {
			r.failf(n, ref, "end stands in a branch of fork: other branches would still run; use exit, or raise an error")
		}
		return directive{flow: flowEnd}
	default:
		i, ok := places[to]
		if !ok {
			r.failf(n, ref, "there is no task %q in this list: then names continue, exit, end or a task of the same list", to)
		}
		return directive{flow: flowTo, to: i}
	}
}

// cases reads a switch.
func (r *reader) cases(n *yaml.Node, ref string, places map[string]int) work {
	w := &switchWork{}
	defaults := 0
	for _, c := range r.names(n, ref, "case") {
		o := r.object(c.node, c.ref)
		if o == nil {
			continue
		}
		one := switchCase{when: r.expression(o.get("when"), o.at("when"), ofTask)}
		if o.items["when"] == nil {
			if defaults++; defaults > 1 {
				r.failf(c.node, c.ref, "a second case has no when: one is the default")
			}
		}
		if then := o.need("then"); then != nil {
			one.then = r.then(then, o.at("then"), places)
		}
		o.done(nil)
		w.cases = append(w.cases, one)
	}
	return w
}

// variable reads the name of a variable.
func (r *reader) variable(n *yaml.Node, ref, otherwise string) string {
	if n == nil {
		return "$" + otherwise
	}
	name := r.text(n, ref)
	reserved := slices.Contains(ofTaskExport, "$"+name) || refusedVariables["$"+name] != ""
	if !variableFor.MatchString(name) || reserved || strings.HasPrefix(name, "__") {
		r.failf(n, ref, "%q cannot be the name of a variable: use letters, digits and _, and no name of the standard", name)
		return "$" + otherwise
	}
	return "$" + name
}

// within reads something with more variables in sight.
func (r *reader) within(variables []string, read func()) {
	before := r.scope
	r.scope = append(slices.Clone(before), variables...)
	read()
	r.scope = before
}

// loop reads a for.
func (r *reader) loop(o *object, n *yaml.Node, ref string) work {
	f := r.object(n, ref)
	if f == nil {
		return nil
	}
	w := &forWork{each: r.variable(f.get("each"), f.at("each"), "item"), at: r.variable(f.get("at"), f.at("at"), "index")}
	if in := f.need("in"); in != nil {
		w.in = r.expression(in, f.at("in"), ofTask)
	}
	f.done(nil)
	r.within([]string{w.each, w.at}, func() {
		w.while = r.expression(o.get("while"), o.at("while"), ofTask)
		if list := o.need("do"); list != nil {
			w.tasks = r.tasks(list, o.at("do"))
		}
	})
	return w
}

// fork reads a fork.
func (r *reader) fork(n *yaml.Node, ref string) work {
	f := r.object(n, ref)
	if f == nil {
		return nil
	}
	w := &forkWork{compete: r.boolean(f.get("compete"), f.at("compete"))}
	if list := f.need("branches"); list != nil {
		r.branches++
		w.branches = r.tasks(list, f.at("branches"))
		r.branches--
	}
	f.done(nil)
	for i, b := range w.branches {
		if b.then.flow != flowContinue {
			r.failf(n, f.at("branches")+"/"+strconv.Itoa(i), "a branch has then: branches run at the same time, and none follows another")
		}
		if s, ok := b.work.(*switchWork); ok && slices.ContainsFunc(s.cases, func(c switchCase) bool { return c.then.flow == flowTo }) {
			r.failf(n, f.at("branches")+"/"+strconv.Itoa(i), "a switch names another branch: branches run at the same time")
		}
	}
	return w
}
