package validations

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

// valueCases checks the key-values of an instance beyond one commit.
func valueCases() []testCase {
	const one = "KeyValue is one key-value of an instance. In a commit a nil Value deletes the key."
	return []testCase{
		{name: "over-executions", run: valuesContinue, rule: one},
		{name: "set-again", run: valuesAgain, rule: one},
		{name: "of-each-instance", run: valuesOfEach, rule: one},
		{name: "of-ended", run: valuesEnded, rule: one},
		{name: "gone-with-the-instance", run: valuesGone, rule: "Delete removes an instance and its children, with everything stored under their keys."},
		{name: "of-a-successor", run: valuesSuccessor, rule: "An instance has an ID chosen by a caller and a Key that is never reused."},
	}
}

// setValues commits key-values: "a=1" sets, "a" deletes.
func setValues(t *trial, i provider.Instance, pairs ...string) provider.Instance {
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

func checkValues(t *trial, key provider.UUID, want string) {
	res, err := t.Get(t.ctx, provider.GetRequest{Key: key, WithValues: true})
	t.ok(err)
	got := make([]string, 0, len(res.Values))
	for _, v := range res.Values {
		got = append(got, fmt.Sprintf("%s=%s", v.Key, v.Value))
	}
	t.checkf(strings.Join(got, " ") == want, "the values are %q, want %q", got, want)
}

func valuesContinue(t *trial) {
	i := setValues(t, t.begin("i"), "kept=1", "changed=1", "removed=1")
	i = t.continueAsNew(i, func(r *provider.CommitTurnRequest) {
		r.Values = []provider.KeyValue{{Key: "with", Value: []byte("2")}}
	})
	checkValues(t, i.Key, "changed=1 kept=1 removed=1 with=2")
	i = setValues(t, i, "changed=2", "removed")
	checkValues(t, i.Key, "changed=2 kept=1 with=2")
	t.steer(i.Key, provider.SteerReset, resetTo("again"))
	checkValues(t, i.Key, "changed=2 kept=1 with=2")
}

func valuesAgain(t *trial) {
	i := setValues(t, t.begin("i"), "a=1", "b=1", "never")
	i = setValues(t, i, "a", "b")
	checkValues(t, i.Key, "")
	i = setValues(t, i, "a=", "b=2")
	checkValues(t, i.Key, "a= b=2")
	setValues(t, i)
	checkValues(t, i.Key, "a= b=2")
}

func valuesOfEach(t *trial) {
	a, b, none := setValues(t, t.begin("a"), "k=a"), setValues(t, t.begin("b"), "k=b"), t.begin("none")
	a = setValues(t, a, "k")
	checkValues(t, a.Key, "")
	checkValues(t, b.Key, "k=b")
	checkValues(t, none.Key, "")
}

func valuesEnded(t *trial) {
	i := t.end(setValues(t, t.begin("i"), "k=v"))
	checkValues(t, i.Key, "k=v")
}

func valuesGone(t *trial) {
	i := beginFamily(t, func(*provider.Start) {})
	child := setValues(t, t.byID("a"), "k=v")
	i = setValues(t, t.get(i.Key), "k=v")
	t.remove(i.Key, true)
	t.gone(child.Key)
	again := t.create(i.ID)
	checkValues(t, again.Key, "")
}

func valuesSuccessor(t *trial) {
	old := t.end(setValues(t, t.begin("i"), "k=old"))
	i := t.create("i", replace)
	checkValues(t, i.Key, "")
	setValues(t, i, "k=new")
	checkValues(t, old.Key, "k=old")
}
