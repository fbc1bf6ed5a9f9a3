package validations

import (
	"fmt"
	"time"

	"github.com/perdure/perdure/provider"
)

// aheadCases checks claims ahead.
func aheadCases() []testCase {
	const counts = "With Ahead, messages that become visible within it count as visible, unless Blocked or a delay holds the instance back for longer."
	const ends = "A claim ahead is a lease without any visible message. It ends when a message " +
		"arrives that is visible before all others, and its delivery is not counted."
	promised := []testCase{
		{name: "ahead", run: aheadVisible, rule: counts},
		{name: "ahead-waits", run: aheadWaits, rule: counts},
		{name: "ahead-of-a-held-instance", run: aheadHeldBack, broad: true, rule: counts},
		{name: "ahead-is-exclusive", run: aheadExclusive, rule: counts},
		{name: "ahead-overtaken", run: aheadOvertaken, rule: ends},
		{name: "ahead-not-overtaken", run: aheadNotOvertaken, rule: ends},
		{
			name: "ahead-conflict", run: aheadConflict,
			rule: "With Ahead, a Lease that no longer holds the instance is a conflict, too: something came first.",
		},
		{name: "ahead-is-promised", run: aheadPromised, rule: "Features.Ahead: FetchTurns returns turns that become visible within Ahead"},
	}
	return append(needs(lackingAhead, promised), []testCase{
		{name: "ahead-limit", run: aheadLimit, broad: true, rule: "MaxAhead: how far ahead a fetch of turns may look"},
	}...)
}

// soon is less than half of MaxAhead, and far enough away for a claim before it.
const soon = 400 * time.Millisecond

func lookAhead(r *provider.FetchTurnsRequest) { r.Ahead = provider.MaxAhead }

// beginSleeping makes an instance with the message "due" that is visible soon.
func beginSleeping(t *trial, id string) (i provider.Instance, due provider.Time) {
	i = t.begin(id)
	m := text("due")
	m.Delay = soon
	return i, t.send(i.Key, m).Now.Add(soon)
}

// claimAhead claims the instance "i" of beginSleeping ahead. It returns false if the provider does not, or the machine was too slow.
func claimAhead(t *trial, due provider.Time) (turn, bool) {
	req := with(with(fetchRequest(), named("i")), lookAhead)
	res, err := t.FetchTurns(t.ctx, req)
	t.ok(err)
	if len(res.Turns) == 0 || res.Now >= due {
		return turn{}, false
	}
	return turn{res.Turns[0], req.Token}, true
}

// aheadPromised waits for a turn that is claimed ahead, more than once: a slow machine may miss some chances. A provider may look
// ahead only once the first turn is near.
func aheadPromised(t *trial) {
	for n := range 10 {
		id := fmt.Sprint("i", n)
		i := t.begin(id)
		m := text("due")
		m.Delay = provider.MaxAhead
		due := t.send(i.Key, m).Now.Add(m.Delay)
		req := with(with(fetchRequest(), named(id)), lookAhead)
		req.Wait = patience
		res, err := t.FetchTurns(t.ctx, req)
		t.ok(err)
		if len(res.Turns) > 0 && res.Now < due {
			return
		}
	}
	t.errorf("none of ten turns was returned before it was visible, want one: the provider declares Features.Ahead")
}

func aheadVisible(t *trial) {
	i, due := beginSleeping(t, "i")
	later := text("later")
	later.Delay = long
	t.send(i.Key, later)
	u := t.fetchOne(named("i"), lookAhead)
	t.checkf(u.payloads() == "due", "got %q, want \"due\"", u.payloads())
	t.checkf(u.Messages[0].VisibleAt >= due, "the message is visible at %d, want %d or later", u.Messages[0].VisibleAt, due)
	t.commit(commitOf(u))
	t.noTurn("the next message is visible much later", named("i"), lookAhead)
}

// A fetch that waits with Ahead returns the turn when it is due at the latest.
func aheadWaits(t *trial) {
	i := t.begin("i")
	m := text("due")
	m.Delay = 2 * provider.MaxAhead
	t.send(i.Key, m)
	began := time.Now()
	u := t.fetchOne(named("i"), lookAhead)
	t.checkf(u.payloads() == "due", "got %q, want \"due\"", u.payloads())
	t.checkf(time.Since(began) < patience, "returned after %v, want less than its Wait of %v", time.Since(began), patience)
}

func aheadHeldBack(t *trial) {
	for id, item := range map[string]provider.TurnRelease{
		"delayed": {Delay: long},
		"blocked": {Kind: provider.ReleaseFailed, Delay: long, Failure: &provider.TurnFailure{Reason: "test"}},
		"held":    {Kind: provider.ReleaseFailed, Failure: &provider.TurnFailure{Reason: "test", Hold: true}},
	} {
		beginSleeping(t, id)
		u := t.fetchOne(named(id), lookAhead)
		item.Key, item.Token = u.Instance.Key, u.token
		_, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}})
		t.ok(err)
		t.noTurn("a delay holds the instance back", named(id), lookAhead)
	}
}

func aheadExclusive(t *trial) {
	_, due := beginSleeping(t, "i")
	if _, ahead := claimAhead(t, due); ahead {
		t.noTurn("another owner holds the lease", named("i"), lookAhead, func(r *provider.FetchTurnsRequest) { r.Owner = "node-b" })
	}
}

func aheadOvertaken(t *trial) {
	i, due := beginSleeping(t, "i")
	_, ahead := claimAhead(t, due)
	if sent := t.send(i.Key, text("first")); !ahead || sent.Now >= due {
		return
	}
	u := t.fetchOne(named("i"), func(r *provider.FetchTurnsRequest) { r.Owner = "node-b" })
	t.checkf(string(u.Messages[0].Payload) == "first", "got %q, want \"first\" before the others", u.payloads())
	t.checkf(u.Instance.Deliveries == 1, "%d deliveries, want 1 for the second claim only", u.Instance.Deliveries)
}

func aheadNotOvertaken(t *trial) {
	i, due := beginSleeping(t, "i")
	u, ahead := claimAhead(t, due)
	if !ahead {
		return
	}
	m := text("later")
	m.Delay = 2 * soon
	t.send(i.Key, m)
	t.noTurn("the lease holds the instance", named("i"), lookAhead)
	req := commitOf(u)
	req.Ahead = true
	t.commit(req)
	u = t.fetchOne(named("i"), lookAhead)
	t.checkf(u.payloads() == "later", "got %q, want \"later\"", u.payloads())
}

func aheadConflict(t *trial) {
	i, due := beginSleeping(t, "i")
	u, ahead := claimAhead(t, due)
	sent := t.send(i.Key, text("first"))
	if !ahead || sent.Now >= due {
		return
	}
	req := commitOf(u)
	req.Ahead = true
	t.unchanged(i.Key, func() { t.refused(req, provider.ErrConflict) })
	u = t.fetchOne(named("i"), lookAhead)
	req = commitOf(u)
	req.Ahead = true
	t.commit(req)
}

func aheadLimit(t *trial) {
	t.create("i")
	_, err := t.FetchTurns(t.ctx, with(fetchRequest(), func(r *provider.FetchTurnsRequest) { r.Ahead = provider.MaxAhead + 1 }))
	t.want(err, provider.ErrTooLarge)
	_, err = t.FetchTurns(t.ctx, with(fetchRequest(), func(r *provider.FetchTurnsRequest) { r.Ahead = -1 }))
	t.want(err, provider.ErrInvalid)
	i := t.begin("j")
	req := next(i)
	req.Ahead = true
	t.refused(req, provider.ErrInvalid)
}
