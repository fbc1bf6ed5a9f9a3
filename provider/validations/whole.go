package validations

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// A line is a part of the portrait of a store: its exact text, and the text that a failure shows.
type line struct{ full, short string }

// A portrait describes what can be read of a store.
type portrait []line

// lineOf describes a value under a name.
func lineOf(name string, v any) line {
	return line{name + " " + describe(v, true), name + " " + describe(v, false)}
}

// text returns all lines, exactly.
func (p portrait) text() string {
	var all strings.Builder
	for _, l := range p {
		all.WriteString(l.full + "\n")
	}
	return all.String()
}

// without returns the lines of p that q does not have.
func (p portrait) without(q portrait) (list []string) {
	known := map[string]int{}
	for _, l := range q {
		known[l.full]++
	}
	for _, l := range p {
		if known[l.full]--; known[l.full] < 0 {
			list = append(list, l.short)
		}
	}
	return list
}

// whole describes everything that can be read of the store.
func (t *trial) whole() (p portrait) {
	list, err := t.store.List(t.ctx, provider.ListRequest{Filter: provider.Filter{Replaced: true}})
	t.readable("List", err)
	for _, i := range list.Instances {
		p = append(p, t.parts(i.Key)...)
	}
	letters, err := t.store.DeadLetters(t.ctx, provider.DeadLettersRequest{})
	t.readable("DeadLetters", err)
	for _, l := range letters.Letters {
		p = append(p, lineOf("dead letter", l))
	}
	records, err := t.store.Record(t.ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: "n"})
	t.readable("Record", err)
	for _, r := range records.Records {
		p = append(p, lineOf("record", r))
	}
	if inspector, ok := provider.As[provider.Inspector](t.store); ok {
		res, err := inspector.Inspect(t.ctx, provider.InspectRequest{Kind: provider.InspectMessages})
		t.readable("Inspect", err)
		for _, m := range res.Messages {
			p = append(p, lineOf("message", m))
		}
		res, err = inspector.Inspect(t.ctx, provider.InspectRequest{Kind: provider.InspectTurnLeases})
		t.readable("Inspect", err)
		for _, l := range res.TurnLeases {
			p = append(p, lineOf("turn lease", l))
		}
	}
	return p
}

// readable ends the case if a call that only looks failed. A store need not have every interface.
func (t *trial) readable(method string, err error) {
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		t.fatalf("%s returned error %v, want none", method, err)
	}
}

// parts describes what can be read of one instance.
func (t *trial) parts(key provider.UUID) (p portrait) {
	res, err := t.store.Get(t.ctx, provider.GetRequest{Key: key, WithTasks: true, WithValues: true})
	t.mustf(err == nil, "Get returned error %v, want none", err)
	i := res.Instance
	p = append(p, lineOf("instance", i))
	for _, task := range res.Tasks {
		p = append(p, lineOf("task", task))
	}
	for _, v := range res.Values {
		p = append(p, lineOf("value", v))
	}
	for n := range i.Execution {
		p = append(p, lineOf(fmt.Sprintf("history of %q, execution %d", i.ID, n+1), t.history(key, n+1)))
	}
	return p
}

// wholeUnchanged checks that act changes nothing in the store.
func (t *trial) wholeUnchanged(what string, act func()) {
	before := t.whole()
	act()
	t.differs(what, before, t.whole())
}

// differs records a failure if two portraits differ.
func (t *trial) differs(what string, before, after portrait) {
	gone, come := before.without(after), after.without(before)
	if len(gone)+len(come) > 0 {
		slices.Sort(gone)
		slices.Sort(come)
		t.errorf("%s changed the store, want no change\n- %s\n+ %s", what, strings.Join(gone, "\n- "), strings.Join(come, "\n+ "))
	}
}

// picture describes everything that can be read of an instance, without the effects of leases.
func (t *trial) picture(key provider.UUID) (p portrait) {
	res, err := t.store.Get(t.ctx, provider.GetRequest{Key: key, WithTasks: true, WithValues: true})
	t.mustf(err == nil, "Get returned error %v, want none", err)
	i := res.Instance
	i.Deliveries = 0
	p = append(p, lineOf("instance", i))
	p = append(p, lineOf("tasks", res.Tasks))
	p = append(p, lineOf("values", res.Values))
	p = append(p, lineOf("history", t.history(key, 0)))
	return p
}

// unchanged checks that act does not change the instance.
func (t *trial) unchanged(key provider.UUID, act func()) {
	before := t.picture(key)
	act()
	t.differs("the call", before, t.picture(key))
}

// refused checks that the commit returns the sentinel and changes nothing.
func (t *trial) refused(req provider.CommitTurnRequest, sentinel error) {
	t.unchanged(req.Key, func() {
		_, err := t.CommitTurn(t.ctx, req)
		t.want(err, sentinel)
	})
}
