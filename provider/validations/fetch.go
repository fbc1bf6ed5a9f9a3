package validations

import (
	"fmt"
	"sync"
	"time"

	"github.com/perdure/perdure/provider"
)

func fetchCases() []testCase {
	const leased = "No unexpired turn lease holds it."
	const running = "Its status is Running."
	const capable = "Its (name, version) is among Capabilities."
	return []testCase{
		{name: "lease-is-exclusive", run: fetchExclusive, rule: leased},
		{name: "racing-fetchers", run: fetchRace, rule: leased},
		{name: "lease-expires", run: fetchExpires, rule: leased},
		{name: "needs-a-message", run: fetchNeedsMessage, rule: "It has a visible message, or its ReadyAt has come."},
		{name: "not-suspended", run: fetchSuspended, rule: running},
		{name: "not-ended", run: fetchEnded, rule: running},
		{name: "exact-capability", run: fetchCapability, rule: capable},
		{name: "no-capability", run: fetchNoCapability, rule: capable},
		{name: "engine-level", run: fetchLevel, rule: "Its engine level is at most EngineLevel."},
		{name: "sticky", run: fetchSticky, lacks: lackingSticky, rule: "CommitTurnRequest.Owner: with Sticky: only this owner fetches the instance for that long"},
		{name: "sticky-ends", run: fetchStickyEnds, lacks: lackingSticky, rule: "Neither Blocked nor the stickiness of another owner holds it back."},
		{name: "others-are-not-counted", run: fetchOthers, rule: "Other instances are left alone and their deliveries are not counted."},
		{name: "order", run: fetchOrder, rule: "Instances come in order of ReadyAt."},
		{name: "up-to-max", run: fetchMax, rule: "FetchTurns leases up to Max instances that have visible messages, with those messages."},
		{
			name: "deliveries", run: fetchDeliveries,
			rule: "Each lease raises Deliveries durably before the call returns, and a commit sets it to 0.",
		},
		{name: "result-is-the-callers", run: fetchOwnSlices, rule: "Result slices belong to the caller."},
		{name: "request-is-copied", run: sendOwnSlices, rule: "A provider does not keep or change a request's slices after it returned."},
		{name: "messages-of-a-turn", run: fetchManyMessages, rule: "MaxFetchMessages: messages of one fetched turn"},
	}
}

func fetchExclusive(t *trial) {
	t.create("i")
	t.fetchOne()
	t.noTurn("the lease holds the instance")
	t.noTurn("the lease holds the instance", func(r *provider.FetchTurnsRequest) { r.Owner = "node-b" })
}

func fetchRace(t *trial) {
	const instances = 40
	for n := range instances {
		t.create(fmt.Sprint("i", n))
	}
	var mu sync.Mutex
	got := map[provider.UUID]int{}
	t.parallel(8, func(n int) {
		for {
			list := t.fetch(func(r *provider.FetchTurnsRequest) { r.Owner, r.Max = fmt.Sprint("node-", n), 3 })
			if len(list) == 0 {
				return
			}
			mu.Lock()
			for _, u := range list {
				got[u.Instance.Key]++
			}
			mu.Unlock()
		}
	})
	is(t, "instances fetched", len(got), instances)
	for key, n := range got {
		t.checkf(n == 1, "%s was leased %d times concurrently, want 1", key, n)
	}
}

func fetchExpires(t *trial) {
	i := t.create("i")
	req := fetchRequest()
	req.Lease = short
	first, err := t.FetchTurns(t.ctx, req)
	t.ok(err)
	t.mustf(len(first.Turns) == 1, "got %d turns, want 1", len(first.Turns))
	req = fetchRequest()
	req.Wait = patience
	second, err := t.FetchTurns(t.ctx, req)
	t.ok(err)
	t.mustf(len(second.Turns) == 1 && second.Turns[0].Instance.Key == i.Key, "got %+v after the lease expired, want the instance again", second)
	t.checkf(second.Now >= first.Now.Add(short), "fetched again at %d, want %d or later, when the lease expires", second.Now, first.Now.Add(short))
}

func fetchNeedsMessage(t *trial) {
	i := t.begin("i")
	t.checkf(i.ReadyAt == 0 && i.InboxMessages == 0, "got %+v, want an empty inbox and ReadyAt 0", i)
	t.noTurn("the inbox is empty", named("i"))
}

func fetchSuspended(t *trial) {
	i := t.create("i")
	t.steer(i.Key, provider.SteerSuspend)
	t.noTurn("the instance is suspended")
}

func fetchEnded(t *trial) {
	i := t.create("i")
	t.steer(i.Key, provider.SteerTerminate)
	t.noTurn("the instance has ended")
}

func fetchCapability(t *trial) {
	i := t.create("i")
	plain := t.create("j", func(r *provider.CreateRequest) { r.CodeVersion = "" })
	can := func(name, version string) func(*provider.FetchTurnsRequest) {
		return func(r *provider.FetchTurnsRequest) {
			r.Capabilities = []provider.Capability{{Name: name, CodeVersion: version}}
		}
	}
	t.noTurn("the version differs", can(orchestration, "v2"))
	t.noTurn("the name differs", can("other", codeVersion))
	u := t.fetchOne(can(orchestration, ""))
	is(t, "the instance with the empty version", u.Instance.Key, plain.Key)
	u = t.fetchOne(can(orchestration, codeVersion))
	is(t, "the instance with version "+codeVersion, u.Instance.Key, i.Key)
}

func fetchNoCapability(t *trial) {
	t.create("i")
	t.noTurn("the fetch has no capabilities", func(r *provider.FetchTurnsRequest) { r.Capabilities = nil })
}

func fetchLevel(t *trial) {
	t.create("i", func(r *provider.CreateRequest) { r.EngineLevel = 5 })
	t.noTurn("the engine level of the fetch is too low", func(r *provider.FetchTurnsRequest) { r.EngineLevel = 4 })
	t.fetchOne(func(r *provider.FetchTurnsRequest) { r.EngineLevel = 5 })
}

func fetchSticky(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = "node-b", long })
	t.send(i.Key, text("m"))
	t.noTurn("the instance sticks to node-b", named("i"))
	u := t.fetchOne(named("i"), func(r *provider.FetchTurnsRequest) { r.Owner = "node-b" })
	t.commit(commitOf(u))
	t.send(i.Key, text("n"))
	t.fetchOne(named("i")) // the last commit was not sticky
}

func fetchStickyEnds(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.Owner, r.Sticky = "node-b", short })
	t.send(i.Key, text("m"))
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "m", "got %q, want \"m\"", u.payloads())
}

func fetchOthers(t *trial) {
	i := t.create("i", func(r *provider.CreateRequest) { r.EngineLevel = 1 })
	t.noTurn("the engine level of the fetch is too low")
	t.noTurn("the fetch has no capabilities", func(r *provider.FetchTurnsRequest) { r.Capabilities = nil })
	is(t, "deliveries after fetches that could not take the instance", t.get(i.Key).Deliveries, 0)
	t.fetchOne(func(r *provider.FetchTurnsRequest) { r.EngineLevel = 1 }) // they did not lease it either
}

func fetchOrder(t *trial) {
	made := make([]provider.Instance, 6)
	for n := range made {
		made[n] = t.create(fmt.Sprint("i", n))
		t.pass(time.Millisecond) // so that each is ready at a different instant
	}
	three := func(r *provider.FetchTurnsRequest) { r.Max = 3 }
	list := append(t.fetch(three), t.fetch(three)...)
	t.mustf(len(list) == len(made), "got %d turns, want %d", len(list), len(made))
	for n, u := range list {
		t.checkf(u.Instance.ReadyAt == made[n].ReadyAt, "turn %d is ready at %d, want %d", n, u.Instance.ReadyAt, made[n].ReadyAt)
	}
}

func fetchMax(t *trial) {
	for n := range 5 {
		t.create(fmt.Sprint("i", n))
	}
	list := t.fetch(func(r *provider.FetchTurnsRequest) { r.Max = 3 })
	t.checkf(len(list) == 3, "got %d turns, want 3, as Max says", len(list))
	list = t.fetch()
	t.checkf(len(list) == 2, "got %d turns, want the remaining 2", len(list))
}

func fetchDeliveries(t *trial) {
	i := t.create("i")
	for n := int64(1); n <= 3; n++ {
		u := t.fetchOne(briefly)
		t.checkf(u.Instance.Deliveries == n && t.get(i.Key).Deliveries == n, "lease %d: %d deliveries, want %d", n, u.Instance.Deliveries, n)
	}
	t.commit(commitOf(t.fetchOne()))
	t.checkf(t.get(i.Key).Deliveries == 0, "the commit left %d deliveries, want 0", t.get(i.Key).Deliveries)
}

func fetchOwnSlices(t *trial) {
	t.create("i")
	u := t.fetchOne(briefly)
	copy(u.Messages[0].Payload, "XXXXX")
	u = t.fetchOne()
	t.checkf(u.payloads() == "start", "the store has %q after the caller changed a result, want \"start\"", u.payloads())
}

func sendOwnSlices(t *trial) {
	i := t.begin("i")
	m := text("kept")
	t.send(i.Key, m)
	copy(m.Payload, "XXXX")
	u := t.fetchOne(named("i"))
	t.checkf(u.payloads() == "kept", "the store has %q after the caller changed its request, want \"kept\"", u.payloads())
}
