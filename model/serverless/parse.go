package serverless

import (
	"regexp"
	"time"

	"go.yaml.in/yaml/v3"
)

// What the standard has at the top of a document, and the subset has not.
//
//nolint:gochecknoglobals // constant tables
var (
	refusedOfDocument = map[string]string{
		"schedule": "an instance is started from outside: use client.CreateSchedule, or start it where the event comes in",
	}
	refusedOfUse = map[string]string{
		"authentications": "no task calls a service: let the activity authorize itself",
		"catalogs":        "a document depends on nothing that can change outside of it",
		"extensions":      "a task is what stands in the document: write it at each place",
		"functions":       "call names an activity: write the call at each place",
		"secrets":         "secrets would be stored in histories: let the activity read them",
	}
	refusedOfData = map[string]string{"schema": "data is not validated against schemas: raise an error by a condition, or check it in an activity"}
)

var (
	dslVersion  = regexp.MustCompile(`^1\.0\.\d+$`)
	semVersion  = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	dnsLabel    = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	variableFor = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
)

// workflow reads the top of a document.
func (r *reader) workflow(n *yaml.Node) *workflow {
	o := r.object(n, "")
	if o == nil {
		return nil
	}
	w := &workflow{definition: value(n)}
	if head := o.need("document"); head != nil {
		w.id = r.head(head, "/document")
	}
	if use := o.get("use"); use != nil {
		r.use(use, "/use")
	}
	r.evaluation(o)
	w.from = r.input(o, ofWorkflowInput)
	w.timeout = r.timeout(o)
	if list := o.need("do"); list != nil {
		w.tasks = r.tasks(list, "/do")
	}
	w.as = r.output(o, ofWorkflowOutput)
	o.done(refusedOfDocument)
	return w
}

// head reads the part that names the document.
func (r *reader) head(n *yaml.Node, ref string) (id documentID) {
	o := r.object(n, ref)
	if o == nil {
		return id
	}
	for _, part := range []struct {
		key  string
		into *string
		is   *regexp.Regexp
		want string
	}{
		{"dsl", new(string), dslVersion, "1.0.x is needed, such as '1.0.3'"},
		{"namespace", &id.namespace, dnsLabel, "1 to 63 letters a to z, digits and hyphens are needed"},
		{"name", &id.name, dnsLabel, "1 to 63 letters a to z, digits and hyphens are needed"},
		{"version", &id.version, semVersion, "a semantic version is needed, such as '1.0.0'"},
	} {
		of := o.need(part.key)
		if of == nil {
			continue
		}
		if *part.into = r.text(of, o.at(part.key)); part.key == "namespace" && of.Value == goNamespace {
			r.failf(of, o.at(part.key), "%q is the namespace of orchestrations in Go: choose another one", goNamespace)
		}
		if of.Tag == "!!str" && !part.is.MatchString(*part.into) {
			r.failf(of, o.at(part.key), "%q stands here: %s", of.Value, part.want)
		}
	}
	for _, key := range []string{"title", "summary"} {
		r.text(o.get(key), o.at(key))
	}
	o.get("tags")
	o.get("metadata")
	o.done(nil)
	return id
}

// evaluation checks that expressions are jq, in strict mode.
func (r *reader) evaluation(o *object) {
	n := o.get("evaluate")
	if n == nil {
		return
	}
	e := r.object(n, "/evaluate")
	if e == nil {
		return
	}
	for key, want := range map[string]string{"language": "jq", "mode": "strict"} {
		if of := e.get(key); of != nil && of.Value != want {
			r.failf(of, e.at(key), "%q is outside of the subset: only %s is there", of.Value, want)
		}
	}
	e.done(nil)
}

// use reads the parts that tasks name.
func (r *reader) use(n *yaml.Node, ref string) {
	o := r.object(n, ref)
	if o == nil {
		return
	}
	each := func(key string, read func(name string, n *yaml.Node, ref string)) {
		n := o.get(key)
		if n == nil {
			return
		}
		if list := r.object(n, o.at(key)); list != nil {
			for _, k := range list.keys {
				read(k.Value, list.items[k.Value], list.at(k.Value))
			}
		}
	}
	each("errors", func(name string, n *yaml.Node, ref string) { r.errors[name] = r.raised(n, ref) })
	each("timeouts", func(name string, n *yaml.Node, ref string) { r.timeouts[name] = r.after(n, ref) })
	r.within([]string{errorVariable}, func() {
		each("retries", func(name string, n *yaml.Node, ref string) {
			p := r.retry(n, ref)
			if p != nil {
				p.shared = true
			}
			r.retries[name] = p
		})
	})
	o.done(refusedOfUse)
}

// input reads the key input of a workflow or task.
func (r *reader) input(o *object, names []string) *template {
	return r.data(o, "input", "from", names)
}

// output reads the key output.
func (r *reader) output(o *object, names []string) *template {
	return r.data(o, "output", "as", names)
}

func (r *reader) data(o *object, key, of string, names []string) *template {
	n := o.get(key)
	if n == nil {
		return nil
	}
	d := r.object(n, o.at(key))
	if d == nil {
		return nil
	}
	t := r.either(d.get(of), d.at(of), names)
	d.done(refusedOfData)
	return t
}

// timeout reads the key timeout: the name of one in use, or one in place.
func (r *reader) timeout(o *object) *duration {
	n := o.get("timeout")
	if n == nil {
		return nil
	}
	ref := o.at("timeout")
	if n.Kind == yaml.ScalarNode {
		d, ok := r.timeouts[r.text(n, ref)]
		if !ok {
			r.failf(n, ref, "use.timeouts has no %q", n.Value)
		}
		return d
	}
	return r.after(n, ref)
}

// after reads a timeout.
func (r *reader) after(n *yaml.Node, ref string) *duration {
	o := r.object(n, ref)
	if o == nil {
		return nil
	}
	var d *duration
	if after := o.need("after"); after != nil {
		if d = r.duration(after, o.at("after"), nil); d != nil && d.fixed <= 0 {
			r.failf(after, o.at("after"), "the timeout is zero: a time is needed")
		}
	}
	o.done(nil)
	return d
}

// raised reads an error.
func (r *reader) raised(n *yaml.Node, ref string) *raised {
	o := r.object(n, ref)
	if o == nil {
		return nil
	}
	e := &raised{}
	if kind := o.need("type"); kind != nil {
		e.kind = r.template(kind, o.at("type"), ofTask)
	}
	if status := o.need("status"); status != nil {
		e.status = r.template(status, o.at("status"), ofTask)
		if _, number := e.status.literal.(int); !number && e.status.expr == nil {
			r.failf(status, o.at("status"), "an integer is needed, such as 500")
		}
	}
	e.title = r.template(o.get("title"), o.at("title"), ofTask)
	e.detail = r.template(o.get("detail"), o.at("detail"), ofTask)
	o.done(map[string]string{"instance": "the interpreter sets it to the path of the task"})
	return e
}

// retry reads a policy.
func (r *reader) retry(n *yaml.Node, ref string) *retry {
	o := r.object(n, ref)
	if o == nil {
		return nil
	}
	p := &retry{count: -1}
	p.when = r.expression(o.get("when"), o.at("when"), ofTask)
	p.exceptWhen = r.expression(o.get("exceptWhen"), o.at("exceptWhen"), ofTask)
	p.delay = r.duration(o.get("delay"), o.at("delay"), nil)
	r.backoff(o, p)
	r.jitter(o, p)
	r.limit(o, p)
	o.done(nil)
	return p
}

// backoff reads how the delay grows.
func (r *reader) backoff(o *object, p *retry) {
	n := o.get("backoff")
	if n == nil {
		return
	}
	b := r.object(n, o.at("backoff"))
	if b == nil {
		return
	}
	kinds := map[string]backoff{"constant": backoffConstant, "linear": backoffLinear, "exponential": backoffExponential}
	for _, key := range sortedKeys(kinds) {
		if of := b.get(key); of != nil {
			p.backoff = kinds[key]
			if parameters := r.object(of, b.at(key)); parameters != nil {
				parameters.done(nil)
			}
		}
	}
	if len(b.keys) != 1 {
		r.failf(n, b.ref, "one of constant, linear and exponential is needed")
	}
	b.done(nil)
}

// jitter reads the range of what is added to a delay.
func (r *reader) jitter(o *object, p *retry) {
	n := o.get("jitter")
	if n == nil {
		return
	}
	j := r.object(n, o.at("jitter"))
	if j == nil {
		return
	}
	for key, into := range map[string]*time.Duration{"from": &p.jitterFrom, "to": &p.jitterTo} {
		if of := j.need(key); of != nil {
			if d := r.duration(of, j.at(key), nil); d != nil {
				*into = d.fixed
			}
		}
	}
	if p.jitterTo < p.jitterFrom {
		r.failf(n, j.ref, "to is shorter than from")
	}
	j.done(nil)
}

// limit reads how often and how long a try runs again.
func (r *reader) limit(o *object, p *retry) {
	n := o.get("limit")
	if n == nil {
		return
	}
	l := r.object(n, o.at("limit"))
	if l == nil {
		return
	}
	if of := l.get("attempt"); of != nil {
		if a := r.object(of, l.at("attempt")); a != nil {
			if count := a.get("count"); count != nil {
				p.count = r.count(count, a.at("count"))
			}
			p.attempt = r.duration(a.get("duration"), a.at("duration"), nil)
			a.done(nil)
		}
	}
	p.total = r.duration(l.get("duration"), l.at("duration"), nil)
	l.done(nil)
}
