package serverless

import (
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// What stands inside of tasks, and is outside of the subset.
//
//nolint:gochecknoglobals // constant tables
var (
	refusedCalls = map[string]string{
		"a2a": byActivity, "asyncapi": byActivity, "grpc": byActivity, "http": byActivity, "mcp": byActivity, "openapi": byActivity,
	}
	refusedRuns = map[string]string{
		"container": onNodes, "script": onNodes, "shell": onNodes,
		"await":  "a child is always awaited: start others from an activity",
		"return": "a child has one output",
	}
	refusedOfListen = map[string]string{"read": "an event has a payload, and no envelope"}
	refusedOfTo     = map[string]string{"until": "listen in a loop, or use a timeout"}
	refusedOfFilter = map[string]string{"correlate": "an event is sent to one instance by its ID: there is nothing to correlate"}
)

const (
	byActivity = "who writes a document would reach the network of every node: call an activity by its name"
	onNodes    = "who writes a document would run code on every node: call an activity by its name"
)

// goNamespace is the namespace by which a document names an orchestration in Go, and goNone the version of one without a version.
const (
	goNamespace = "go"
	goNone      = "0.0.0"
)

// raise reads a raise.
func (r *reader) raise(n *yaml.Node, ref string) work {
	o := r.object(n, ref)
	if o == nil {
		return nil
	}
	w := &raiseWork{}
	if err := o.need("error"); err != nil && err.Kind == yaml.ScalarNode {
		found, ok := r.errors[r.text(err, o.at("error"))]
		if w.err = found; !ok {
			r.failf(err, o.at("error"), "use.errors has no %q", err.Value)
		}
	} else if err != nil {
		w.err = r.raised(err, o.at("error"))
	}
	o.done(nil)
	return w
}

// call reads a call.
func (r *reader) call(o *object, n *yaml.Node, ref string) work {
	name := r.text(n, ref)
	switch {
	case refusedCalls[name] != "":
		r.failf(n, ref, "call %s is outside of the subset: %s", name, refusedCalls[name])
		o.get("with") // what stands there is of that call
		return nil
	case strings.Contains(name, "@"):
		r.failf(n, ref, "%q is of a catalog: a document depends on nothing that can change outside of it", name)
	case !r.functionName(name):
		r.failf(n, ref, "%q cannot be the name of an activity: 1 to 512 bytes, not beginning with perdure.", name)
	}
	r.activities[name] = true
	return &callWork{activity: name, with: r.template(o.get("with"), o.at("with"), ofTask)}
}

// functionName reports whether a document may name the function.
func (r *reader) functionName(name string) bool {
	return name != "" && len(name) <= 512 && !strings.HasPrefix(name, "perdure.") && !strings.Contains(name, "\x00")
}

// child reads a run.
func (r *reader) child(n *yaml.Node, ref string) work {
	o := r.object(n, ref)
	if o == nil {
		return nil
	}
	w := &childWork{}
	of := o.get("workflow")
	if of == nil && len(o.keys) == 0 {
		o.need("workflow")
	}
	o.done(refusedRuns)
	if of == nil {
		return nil
	}
	c := r.object(of, o.at("workflow"))
	if c == nil {
		return nil
	}
	var id documentID
	for key, into := range map[string]*string{"namespace": &id.namespace, "name": &id.name, "version": &id.version} {
		if part := c.need(key); part != nil {
			*into = r.text(part, c.at(key))
		}
	}
	w.input = r.template(c.get("input"), c.at("input"), ofTask)
	c.done(nil)
	if id.namespace == goNamespace {
		if !r.functionName(id.name) || id.name == Name {
			r.failf(of, c.ref, "%q cannot be the name of an orchestration in Go: 1 to 512 bytes, not beginning with perdure., and not %s", id.name, Name)
		}
		if w.orchestration = id.name; id.version != goNone {
			w.version = id.version
		}
		r.orchestrations[id.name] = true
		return w
	}
	if w.document = r.uses[id]; w.document == nil {
		r.failf(of, c.ref, "there is no document %v: parse it before and give it to Parse, or name an orchestration in Go by the namespace %s", id, goNamespace)
		return w
	}
	if !slices.Contains(r.runs, w.document) {
		r.runs = append(r.runs, w.document)
	}
	return w
}

// listen reads a listen.
func (r *reader) listen(n *yaml.Node, ref string) work {
	o := r.object(n, ref)
	if o == nil {
		return nil
	}
	if read := o.items["read"]; read != nil && read.Value == "data" {
		o.get("read")
	}
	w := &listenWork{}
	if n := o.need("to"); n != nil {
		r.to(n, o.at("to"), w)
	}
	o.done(refusedOfListen)
	return w
}

// to reads which events a listen waits for.
func (r *reader) to(n *yaml.Node, ref string, w *listenWork) {
	o := r.object(n, ref)
	if o == nil {
		return
	}
	one, some, all := o.get("one"), o.get("any"), o.get("all")
	given := 0
	for _, of := range []*yaml.Node{one, some, all} {
		if of != nil {
			given++
		}
	}
	if given != 1 {
		r.failf(n, ref, "exactly one of one, any and all is needed")
	}
	o.done(refusedOfTo)
	if w.all = all != nil; one != nil {
		r.filter(one, o.at("one"), w)
		return
	}
	key, list := "any", some
	if all != nil {
		key, list = "all", all
	}
	if list == nil {
		return
	}
	if list.Kind != yaml.SequenceNode || len(list.Content) == 0 {
		r.failf(list, o.at(key), "a list of at least one event is needed: an instance listens to events by their names")
		return
	}
	for i, e := range list.Content {
		r.filter(e, o.at(key)+"/"+strconv.Itoa(i), w)
	}
}

// filter reads the name of an event.
func (r *reader) filter(n *yaml.Node, ref string, w *listenWork) {
	o := r.object(n, ref)
	if o == nil {
		return
	}
	with := o.need("with")
	if o.done(refusedOfFilter); with == nil {
		return
	}
	f := r.object(with, o.at("with"))
	if f == nil {
		return
	}
	if kind := f.need("type"); kind != nil {
		name := r.text(kind, f.at("type"))
		if !r.functionName(name) {
			r.failf(kind, f.at("type"), "%q cannot be the name of an event: 1 to 512 bytes, not beginning with perdure.", name)
		}
		if slices.Contains(w.events, name) {
			r.failf(kind, f.at("type"), "the event %q stands here twice", name)
		}
		w.events = append(w.events, name)
	}
	refused := map[string]string{}
	for _, key := range f.keys {
		refused[key.Value] = "an event is known by its type alone: look at its data in a task after this one"
	}
	f.done(refused)
}

// try reads a try.
func (r *reader) try(o *object, n *yaml.Node, ref string) work {
	w := &tryWork{tasks: r.tasks(n, ref)}
	of := o.need("catch")
	if of == nil {
		return w
	}
	c := r.object(of, o.at("catch"))
	if c == nil {
		return w
	}
	if errs := c.get("errors"); errs != nil {
		w.catch.with = r.filterErrors(errs, c.at("errors"))
	}
	w.catch.as = r.variable(c.get("as"), c.at("as"), "error")
	r.within([]string{w.catch.as}, func() {
		w.catch.when = r.expression(c.get("when"), c.at("when"), ofTask)
		w.catch.exceptWhen = r.expression(c.get("exceptWhen"), c.at("exceptWhen"), ofTask)
		if p := c.get("retry"); p != nil && p.Kind == yaml.ScalarNode {
			found, ok := r.retries[r.text(p, c.at("retry"))]
			if w.catch.retry = found; !ok {
				r.failf(p, c.at("retry"), "use.retries has no %q", p.Value)
			}
		} else if p != nil {
			w.catch.retry = r.retry(p, c.at("retry"))
		}
		if list := c.get("do"); list != nil {
			w.catch.tasks = r.tasks(list, c.at("do"))
		}
	})
	c.done(nil)
	return w
}

// filterErrors reads the fields that a caught error has.
func (r *reader) filterErrors(n *yaml.Node, ref string) map[string]any {
	o := r.object(n, ref)
	if o == nil {
		return nil
	}
	fields := map[string]any{}
	with := o.need("with")
	if o.done(nil); with == nil {
		return fields
	}
	f := r.object(with, o.at("with"))
	if f == nil {
		return fields
	}
	for _, key := range []string{"type", "status", "instance", "title", "detail"} {
		if of := f.get(key); of == nil {
			continue
		} else if key == "status" {
			fields[key] = r.count(of, f.at(key))
		} else {
			fields[key] = r.text(of, f.at(key))
		}
	}
	f.done(nil)
	return fields
}
