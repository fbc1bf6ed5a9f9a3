package validations

import "github.com/perdure/perdure/provider"

func releaseCases() []testCase {
	const clean = "ReleaseClean lowers Deliveries again. The instance is fetchable after Delay."
	const failed = "ReleaseFailed sets or updates the Blocked flag: count, reason, message, and the retry time after Delay. Hold blocks until Unblock."
	const lost = "An item whose token no longer holds the lease gets the error ErrLeaseLost."
	return []testCase{
		{name: "clean", run: releaseClean, rule: clean},
		{name: "delay", run: releaseDelay, rule: clean},
		{name: "failure", run: releaseFailure, rule: failed},
		{name: "failure-count", run: releaseCount, rule: failed},
		{name: "hold", run: releaseHold, rule: failed},
		{name: "wrong-token", run: releaseWrongToken, rule: lost},
		{name: "each-for-itself", run: releaseEach, rule: "ReleaseTurns ends turn leases without a commit. Its items are independent of each other."},
		{name: "twice", run: releaseTwice, rule: "Releasing twice changes nothing."},
		{name: "version-stays", run: releaseVersion, rule: "The Version does not change."},
		{
			name: "all-of-a-token", run: releaseAll,
			rule: "ReleaseToken ends all leases that its Token holds, and lowers their " +
				"Deliveries. So a caller can release the leases of a fetch whose result it never got.",
		},
		{name: "commit-unblocks", run: releaseCommit, rule: "The commit resets Deliveries, clears Blocked, and ends the turn lease if Lease names it."},
	}
}

// release ends the lease of a turn, with changes to the item.
func (t *trial) release(u turn, changes ...func(*provider.TurnRelease)) error {
	item := provider.TurnRelease{Key: u.Instance.Key, Token: u.token}
	for _, change := range changes {
		change(&item)
	}
	res, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}})
	t.ok(err)
	t.mustf(len(res.Errs) == 1, "%d errors for one item, want 1", len(res.Errs))
	return res.Errs[0]
}

// block releases the turn with a failure. It is retried after a short delay, or held.
func (t *trial) block(u turn, hold bool) {
	t.ok(t.release(u, func(r *provider.TurnRelease) {
		r.Delay = short
		r.Kind = provider.ReleaseFailed
		r.Failure = &provider.TurnFailure{Reason: "panic", Message: "it hurts", Hold: hold}
	}))
}

func releaseClean(t *trial) {
	i := t.create("i")
	t.ok(t.release(t.fetchOne()))
	is(t, "deliveries after the release", t.get(i.Key).Deliveries, 0)
	u := t.fetchOne()
	t.checkf(u.payloads() == "start" && u.Instance.Deliveries == 1, "got %q, delivery %d, want \"start\" and 1", u.payloads(), u.Instance.Deliveries)
}

func releaseDelay(t *trial) {
	t.create("i")
	t.ok(t.release(t.fetchOne(), func(r *provider.TurnRelease) { r.Delay = long }))
	t.noTurn("the release has a delay")
	t.create("j")
	t.ok(t.release(t.fetchOne(), func(r *provider.TurnRelease) { r.Delay = short }))
	u := t.fetchOne()
	t.checkf(u.Instance.ID == "j", "got a turn of %s, want j", u.Instance.ID)
}

func releaseFailure(t *trial) {
	i := t.create("i")
	t.block(t.fetchOne(), false)
	b := t.get(i.Key).Blocked
	t.mustf(b != nil, "the instance is not blocked, want the flag")
	t.checkf(b.Reason == "panic" && b.Message == "it hurts" && b.Count == 1 && b.Since > 0,
		"blocked %+v, want the reason and message of the failure, count 1, and a time", *b)
	t.checkf(b.RetryAt >= b.Since.Add(short), "retry at %d, blocked since %d, want the delay between them", b.RetryAt, b.Since)
	u := t.fetchOne()
	t.checkf(u.Instance.Blocked != nil && u.Instance.Deliveries == 2, "got %+v, want the Blocked flag and 2 deliveries", u.Instance)
}

func releaseCount(t *trial) {
	i := t.create("i")
	t.block(t.fetchOne(), false)
	since := t.get(i.Key).Blocked.Since
	t.block(t.fetchOne(), false)
	b := t.get(i.Key).Blocked
	t.mustf(b != nil, "the instance is not blocked, want the flag")
	t.checkf(b.Count == 2 && b.Since == since, "blocked %+v, want count 2 since %d", *b, since)
}

func releaseHold(t *trial) {
	i := t.create("i")
	t.block(t.fetchOne(), true)
	b := t.get(i.Key).Blocked
	t.mustf(b != nil, "the instance is not blocked, want the flag")
	t.checkf(b.RetryAt == 0, "retry at %d, want 0 for a hold", b.RetryAt)
	t.noTurn("the instance is held", func(r *provider.FetchTurnsRequest) { r.Wait = 2 * short })
}

func releaseWrongToken(t *trial) {
	i := t.create("i")
	u := t.fetchOne()
	other := u
	other.token = unique()
	t.unchanged(i.Key, func() { t.want(t.release(other), provider.ErrLeaseLost) })
	t.noTurn("a wrong token does not end the lease")
	other.Instance.Key = unique()
	t.want(t.release(other), provider.ErrLeaseLost)
	t.ok(t.release(u))
}

func releaseEach(t *trial) {
	t.create("i")
	t.create("j")
	list := t.fetch()
	t.mustf(len(list) == 2, "got %d turns, want 2", len(list))
	res, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{
		{Key: list[0].Instance.Key, Token: unique()},
		{Key: list[1].Instance.Key, Token: list[1].token},
	}})
	t.ok(err)
	t.mustf(len(res.Errs) == 2, "%d errors for two items, want 2", len(res.Errs))
	t.want(res.Errs[0], provider.ErrLeaseLost)
	t.ok(res.Errs[1])
	u := t.fetchOne()
	is(t, "the released instance", u.Instance.Key, list[1].Instance.Key)
}

func releaseTwice(t *trial) {
	i := t.create("i")
	u := t.fetchOne()
	t.ok(t.release(u))
	t.fetchOne()
	t.want(t.release(u), provider.ErrLeaseLost)
	t.checkf(t.get(i.Key).Deliveries == 1, "%d deliveries, want 1", t.get(i.Key).Deliveries)
	t.noTurn("the second lease still holds the instance")
}

func releaseVersion(t *trial) {
	i := t.create("i")
	t.ok(t.release(t.fetchOne()))
	t.block(t.fetchOne(), true)
	is(t, "the version after a release", t.get(i.Key).Version, i.Version)
	t.commit(next(i, "event")) // so a hand-off turn that was computed before stays valid
}

func releaseCommit(t *trial) {
	i := t.create("i")
	t.block(t.fetchOne(), false)
	t.commit(commitOf(t.fetchOne()))
	stored := t.get(i.Key)
	t.checkf(stored.Blocked == nil && stored.Deliveries == 0, "blocked %+v, %d deliveries, want neither", stored.Blocked, stored.Deliveries)
}

func releaseAll(t *trial) {
	t.create("a")
	mine := t.fetchOne()
	t.create("b")
	t.create("c")
	lost := t.fetch(wait)
	t.mustf(len(lost) == 2, "got %d turns, want 2", len(lost))
	unknown := provider.TurnRelease{Kind: provider.ReleaseToken, Token: lost[0].token}
	for range 2 { // a repeat changes nothing
		res, err := t.ReleaseTurns(t.ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{unknown}})
		t.ok(err)
		t.mustf(len(res.Errs) == 1 && res.Errs[0] == nil, "the release returned %v, want one nil error", res.Errs)
	}
	again := t.fetch(wait)
	t.mustf(len(again) == 2, "got %d turns, want the 2 that were released", len(again))
	for _, u := range again {
		t.checkf(u.Instance.Deliveries == 1, "%s: delivery %d, want 1 without the released one", u.Instance.ID, u.Instance.Deliveries)
	}
	t.ok(t.release(mine))
}
