package validations

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
)

// askRoutes checks whom a question goes to, and what ends a call of Ask apart from an answer.
func askRoutes() []testCase {
	const (
		as   = "With As, the question goes to nodes with that capability instead of the instance's own."
		home = "With an Owner, a question is left alone for [AskHome] if the instance sticks to another owner."
		gone = "If there is no such instance, or it is being deleted, the call returns [ErrNotFound]."
	)
	return []testCase{
		{name: "as", run: askAs, rule: as},
		{name: "as-keeps-the-level", run: askAsLevel, rule: as + " The engine level of the instance still counts."},
		{name: "as-lease", run: askAsLease, rule: "A taken question is hidden from other fetches for Lease."},
		{name: "as-needs-a-name", run: askAsName, rule: as},
		{name: "home", run: askHome, lacks: lackingSticky, rule: home},
		{name: "home-ends", run: askHomeEnds, lacks: lackingSticky, rule: home},
		{name: "deleted", run: askDeleted, broad: true, rule: gone},
		{name: "deleted-meanwhile", run: askDeletedMeanwhile, broad: true, rule: "An instance that is removed during the call ends it with ErrNotFound, too."},
		{name: "wakes-its-asker", run: askWakes, lacks: lacking[provider.Counter], rule: "It wakes the call that asked, and no other."},
	}
}

// askAsOther asks the instance as of a capability that is not its own, and returns that of the fetches.
func askAsOther(t *trial, i provider.Instance) (other func(*provider.FetchAsksRequest), answered func() answer) {
	c := provider.Capability{Name: "other", CodeVersion: "v9"}
	answered = parked(t, func() answer {
		res, err := t.Ask(t.ctx, provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Payload: []byte("question"), Wait: long, As: c})
		return answer{string(res.Payload), err}
	})
	return func(r *provider.FetchAsksRequest) { r.Capabilities[0] = c }, answered
}

func askAs(t *trial) {
	i := t.create("i")
	other, answered := askAsOther(t, i)
	open := fetchAsk(t, func(r *provider.FetchAsksRequest) { r.Lease = short }, other)
	t.checkf(open.Instance.Key == i.Key && open.Instance.Name == i.Name && string(open.Payload) == "question",
		"got %+v, want the question with its instance", open)
	fetchAsk(t, other) // the lease has ended
	t.ok(answerAsk(t, open.AskID))
	is(t, "the answer", answered(), answer{payload: "answer"})
	own := parkedAsk(t, i.Key)
	askAsOther(t, i)
	open = fetchAsk(t)
	t.ok(answerAsk(t, open.AskID))
	is(t, "the answer", own(), answer{payload: "answer"})
	t.noAsk("its question is for another capability")
}

// noAsk checks that no question can be taken now.
func (t *trial) noAsk(why string, changes ...func(*provider.FetchAsksRequest)) {
	req := fetchAsksRequest()
	for _, change := range changes {
		change(&req)
	}
	res, err := t.FetchAsks(t.ctx, req)
	t.ok(err)
	t.checkf(len(res.Asks) == 0, "got %d questions, want none: %s", len(res.Asks), why)
}

func askAsLevel(t *trial) {
	i := t.create("i", func(r *provider.CreateRequest) { r.EngineLevel = 3 })
	other, _ := askAsOther(t, i)
	level := func(n int64) func(*provider.FetchAsksRequest) {
		return func(r *provider.FetchAsksRequest) { r.EngineLevel = n }
	}
	parkedAsk(t, i.Key)
	fetchAsk(t, level(3)) // both are stored or will be soon
	t.noAsk("the level is too low", other, level(2))
	fetchAsk(t, other, level(3))
}

func askAsLease(t *trial) {
	other, _ := askAsOther(t, t.create("i"))
	fetchAsk(t, other)
	t.noAsk("another fetch has taken it", other)
	t.noAsk("another fetch has taken it")
}

func askAsName(t *trial) {
	i := t.create("i")
	_, err := t.Ask(t.ctx, provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Wait: short, As: provider.Capability{CodeVersion: "v9"}})
	t.want(err, provider.ErrInvalid)
}

// beginSticky makes an instance that sticks to the owner "node-b".
func beginSticky(t *trial) provider.Instance {
	return t.begin("i", func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = "node-b", long })
}

func fetchedBy(owner string) func(*provider.FetchAsksRequest) {
	return func(r *provider.FetchAsksRequest) {
		r.Owner, r.Capabilities[0].Name = owner, "setup-i"
	}
}

// Several questions, because a slow machine may miss the time of some. A store far away misses it each time.
func askHome(t *trial) {
	i := beginSticky(t)
	left, late := 0, 0
	for range 10 {
		began := time.Now()
		ctx, cancel := context.WithCancel(t.ctx)
		asked := parked(t, func() error {
			_, err := t.Ask(ctx, provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Wait: long})
			return err
		})
		req := with(fetchAsksRequest(), fetchedBy(node))
		early, err := t.FetchAsks(t.ctx, req)
		t.ok(err)
		switch {
		case time.Since(began) >= provider.AskHome:
			late++
		case len(early.Asks) == 0:
			if open := fetchAsk(t, fetchedBy("node-b")); open.Instance.Key == i.Key {
				left++
			}
		}
		cancel()
		t.want(asked(), context.Canceled)
	}
	t.checkf(left > 0 || late == 10, "another owner took each of ten questions at once, want one that was left alone")
}

func askHomeEnds(t *trial) {
	i := beginSticky(t)
	parkedAsk(t, i.Key)
	open := fetchAsk(t, fetchedBy(node))
	is(t, "the instance that is asked", open.Instance.Key, i.Key)
	parkedAsk(t, i.Key)
	fetchAsk(t, fetchedBy(""))
}

func askDeleted(t *trial) {
	i := t.begin("i")
	t.remove(i.Key, true)
	_, err := t.Ask(t.ctx, provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Wait: long})
	t.want(err, provider.ErrNotFound)
}

func askDeletedMeanwhile(t *trial) {
	i, other := t.begin("i"), t.begin("other")
	asked, stays := parkedAsk(t, i.Key), parkedAsk(t, other.Key)
	fetchAsk(t, fetchedBy(""))
	t.remove(i.Key, true)
	t.want(asked().err, provider.ErrNotFound)
	open := fetchAsk(t, func(r *provider.FetchAsksRequest) { r.Capabilities[0].Name = "setup-other" })
	t.ok(answerAsk(t, open.AskID))
	t.ok(stays().err)
}

// Many wait for an answer. One gets it.
func askWakes(t *trial) {
	many := t.callers(1000)
	i := t.create("i")
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	returned := make(chan error, many)
	for range many {
		go func() {
			_, err := t.store.Ask(ctx, provider.AskRequest{Key: i.Key, AskID: askID(i.Key), Wait: long})
			returned <- err
		}()
	}
	var open []provider.OpenAsk
	for len(open) < many {
		res, err := t.FetchAsks(t.ctx, with(fetchAsksRequest(), func(r *provider.FetchAsksRequest) { r.Max, r.Wait = many, long }))
		t.ok(err)
		open = append(open, res.Asks...)
	}
	looks := func() int64 { return provider.CountersOf(t.store).AskLooks }
	before := int64(-1)
	for now := looks(); now != before; now = looks() { // each call looks once before it waits
		before = now
		t.pass(short)
	}
	t.ok(answerAsk(t, open[many/2].AskID))
	t.ok(<-returned)
	t.pass(short)
	t.checkf(looks()-before < int64(many/10), "%d of %d calls looked at an answer that one of them got", looks()-before, many)
	cancel()
	for range many - 1 {
		t.want(<-returned, context.Canceled)
	}
}
