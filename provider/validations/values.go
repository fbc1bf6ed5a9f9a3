package validations

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

// valueCases check the key-values of an instance beyond one commit.
func valueCases() []testCase {
	const one = "KeyValue is one key-value of an instance. In a commit a nil Value deletes the key."
	return []testCase{
		{name: "over-executions", run: valuesContinue, rule: one},
		{name: "set-again", run: valuesAgain, rule: one},
		{name: "of-each-instance", run: valuesApart, rule: one},
		{name: "of-ended", run: valuesEnded, rule: one},
		{name: "gone-with-the-instance", run: valuesGone, rule: "Delete removes an instance and its children, with everything stored under their keys."},
		{name: "of-a-successor", run: valuesSuccessor, rule: "An instance has an ID chosen by a caller and a Key that is never reused."},
	}
}

// set commits key-values: "a=1" sets, "a" deletes.
func (t *trial) set(i provider.Instance, pairs ...string) provider.Instance {
	req := next(i)
	for _, pair := range pairs {
		key, value, set := strings.Cut(pair, "=")
		kv := provider.KeyValue{Key: key}
		if set {
			kv.Value = []byte(value)
		}
		req.Values = append(req.Values, kv)
	}
	t.commit(req)
	return t.get(i.Key)
}

func (t *trial) valuesAre(key provider.UUID, want string) {
	res, err := t.Get(t.ctx, provider.GetRequest{Key: key, WithValues: true})
	t.ok(err)
	got := make([]string, 0, len(res.Values))
	for _, v := range res.Values {
		got = append(got, fmt.Sprintf("%s=%s", v.Key, v.Value))
	}
	t.checkf(strings.Join(got, " ") == want, "values are %q, want %q", got, want)
}

func valuesContinue(t *trial) {
	i := t.set(t.begin("i"), "kept=1", "changed=1", "removed=1")
	i = t.continueAsNew(i, func(r *provider.CommitTurnRequest) {
		r.Values = []provider.KeyValue{{Key: "with", Value: []byte("2")}}
	})
	t.valuesAre(i.Key, "changed=1 kept=1 removed=1 with=2")
	i = t.set(i, "changed=2", "removed")
	t.valuesAre(i.Key, "changed=2 kept=1 with=2")
	t.steer(i.Key, provider.SteerReset, resetTo("again"))
	t.valuesAre(i.Key, "changed=2 kept=1 with=2")
}

func valuesAgain(t *trial) {
	i := t.set(t.begin("i"), "a=1", "b=1", "never")
	i = t.set(i, "a", "b")
	t.valuesAre(i.Key, "")
	i = t.set(i, "a=", "b=2")
	t.valuesAre(i.Key, "a= b=2")
	t.set(i)
	t.valuesAre(i.Key, "a= b=2")
}

func valuesApart(t *trial) {
	a, b, none := t.set(t.begin("a"), "k=a"), t.set(t.begin("b"), "k=b"), t.begin("none")
	a = t.set(a, "k")
	t.valuesAre(a.Key, "")
	t.valuesAre(b.Key, "k=b")
	t.valuesAre(none.Key, "")
}

func valuesEnded(t *trial) {
	i := t.end(t.set(t.begin("i"), "k=v"))
	t.valuesAre(i.Key, "k=v")
}

func valuesGone(t *trial) {
	i := t.family(func(*provider.Start) {})
	child := t.set(t.byID("a"), "k=v")
	i = t.set(t.get(i.Key), "k=v")
	t.remove(i.Key, true)
	t.gone(child.Key)
	again := t.create(i.ID)
	t.valuesAre(again.Key, "")
}

func valuesSuccessor(t *trial) {
	old := t.end(t.set(t.begin("i"), "k=old"))
	i := t.create("i", replace)
	t.valuesAre(i.Key, "")
	t.set(i, "k=new")
	t.valuesAre(old.Key, "k=old")
}
