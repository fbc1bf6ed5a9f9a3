package validations

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// askInUse asks under an AskID that a waiting question has.
func askInUse(t *trial) {
	i := t.create("i")
	req := provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Payload: []byte("question"), Wait: long}
	asked := parked(t, func() answer {
		res, err := t.Ask(t.ctx, req)
		return answer{string(res.Payload), err}
	})
	open := fetchAsk(t)
	_, err := t.Ask(t.ctx, req)
	t.want(err, provider.ErrExists)
	t.ok(answerAsk(t, open.AskID))
	got := asked()
	t.checkf(got.err == nil && got.payload == "answer", "the first question got %q and error %v, want the answer", got.payload, got.err)
}

// askClosed closes the provider while calls of each kind wait.
func askClosed(t *trial) {
	i := t.create("i", func(r *provider.CreateRequest) { r.Name = "other" })
	asked := parkedAsk(t, i.Key)
	fetched := parked(t, func() error {
		_, err := t.FetchAsks(t.ctx, with(fetchAsksRequest(), func(r *provider.FetchAsksRequest) { r.Wait = long }))
		return err
	})
	tasks := parked(t, func() error {
		_, err := t.FetchTasks(t.ctx, with(fetchTasksRequest(), func(r *provider.FetchTasksRequest) { r.Wait = long }))
		return err
	})
	value := parked(t, func() error {
		_, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, Value: "v", WaitValue: true, Wait: long})
		return err
	})
	began := time.Now()
	t.ok(t.Close())
	t.checkf(time.Since(began) < patience, "Close returned after %v, want it to end the waits", time.Since(began))
	for what, err := range map[string]error{"Ask": asked().err, "FetchAsks": fetched(), "FetchTasks": tasks(), "Get": value()} {
		t.checkf(err != nil, "%s returned no error after Close, want ErrClosed", what)
		t.want(err, provider.ErrClosed)
	}
}
