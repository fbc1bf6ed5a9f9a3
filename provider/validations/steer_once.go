package validations

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

func steerOnceCases() []testCase {
	const (
		once       = "An act with a RequestID happens once."
		remembered = "An instance remembers its last [MaxActs] request IDs, over all executions and after its end. " +
			"An act under one of them changes nothing and succeeds, whatever it asks for."
	)
	return []testCase{
		{name: "once", run: steerOnce, rule: once},
		{name: "once-racing", run: steerOnceRace, rule: once},
		{name: "once-for-each-instance", run: steerOnceEach, rule: once},
		{name: "once-remembered", run: steerOnceRemembered, rule: remembered},
		{name: "once-after-the-end", run: steerOnceEnded, rule: remembered},
		{name: "once-refused", run: steerOnceRefused, rule: "A refused act is not remembered."},
	}
}

func requested(id string) func(*provider.SteerRequest) {
	return func(r *provider.SteerRequest) { r.RequestID, r.Event = id, []byte("act") }
}

func steerOnce(t *trial) {
	i := t.begin("i")
	t.steer(i.Key, provider.SteerSuspend, requested("r"))
	t.steer(i.Key, provider.SteerResume, requested("other"))
	t.unchanged(i.Key, func() {
		got := t.steer(i.Key, provider.SteerSuspend, requested("r"))
		is(t, "the status that a repeat returns", got.Status, provider.StatusRunning)
		t.steer(i.Key, provider.SteerReset, requested("r"))
	})
	t.commit(next(t.get(i.Key), "two"))
	t.unchanged(i.Key, func() { t.steer(i.Key, provider.SteerSuspend, requested("r")) })
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithValues: true})
	t.ok(err)
	t.checkf(len(res.Values) == 0, "values %+v, want none: a request ID is no value", res.Values)
}

func steerOnceRace(t *trial) {
	i := t.begin("i")
	t.parallel(8, func(int) { t.steer(i.Key, provider.SteerResume, requested("r")) })
	t.historyIs(i.Key, 1, "1:started 2:act")
}

func steerOnceEach(t *trial) {
	for _, id := range []string{"a", "b"} {
		i := t.begin(id)
		is(t, "the status", t.steer(i.Key, provider.SteerSuspend, requested("r")).Status, provider.StatusSuspended)
		t.steer(i.Key, provider.SteerResume)
		is(t, "the status after an act without a request", t.steer(i.Key, provider.SteerSuspend).Status, provider.StatusSuspended)
	}
}

func steerOnceRemembered(t *trial) {
	i := t.begin("i")
	for n := range provider.MaxActs {
		t.steer(i.Key, provider.SteerResume, requested(fmt.Sprint("r", n)))
		if n == 1 {
			t.steer(i.Key, provider.SteerReset)
		}
	}
	t.continueAsNew(t.get(i.Key))
	t.unchanged(i.Key, func() {
		for n := range provider.MaxActs {
			t.steer(i.Key, provider.SteerSuspend, requested(fmt.Sprint("r", n)))
		}
	})
}

func steerOnceEnded(t *trial) {
	i := t.begin("i")
	t.steer(i.Key, provider.SteerTerminate, requested("r"), func(r *provider.SteerRequest) { r.Result = []byte("first") })
	t.unchanged(i.Key, func() {
		t.steer(i.Key, provider.SteerTerminate, requested("r"), func(r *provider.SteerRequest) { r.Result = []byte("second") })
	})
	t.steer(i.Key, provider.SteerReset, requested("again"))
	t.unchanged(i.Key, func() {
		t.steer(i.Key, provider.SteerTerminate, requested("r"))
		t.steer(i.Key, provider.SteerReset, requested("again"))
	})
}

func steerOnceRefused(t *trial) {
	i := t.begin("i")
	stale := i.Version
	i = t.steer(i.Key, provider.SteerResume)
	req := provider.SteerRequest{Key: i.Key, Action: provider.SteerMove, CodeVersion: "v2", Commit: unique(), Expected: stale, RequestID: "r"}
	_, err := t.Steer(t.ctx, req)
	t.want(err, provider.ErrConflict)
	req.Expected = i.Version
	_, err = t.Steer(t.ctx, req)
	t.ok(err)
	is(t, "the version of the code", t.get(i.Key).CodeVersion, "v2")
}
