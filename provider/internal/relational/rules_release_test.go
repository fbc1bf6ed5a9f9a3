package relational

import "github.com/perdure/perdure/provider"

// releaseCases are about ReleaseTurns.
func releaseCases() []ruleCase {
	const (
		free = "StoreHead i: Deliveries=1 LeaseToken= LeaseOwner= LeaseUntil=0"
		lost = "[lease lost]"
	)
	clean := provider.TurnRelease{Key: u("i"), Token: u("l")}
	failed := clean
	failed.Kind, failed.Delay, failed.Failure = provider.ReleaseFailed, us(200), &provider.TurnFailure{Reason: "panic"}
	hold := failed
	hold.Failure = &provider.TurnFailure{Reason: "panic", Hold: true}
	delayed := clean
	delayed.Delay = us(200)
	fetched := provider.TurnRelease{Kind: provider.ReleaseToken, Token: u("l")}
	unpinned := provider.TurnRelease{Kind: provider.ReleaseUnpin, Key: u("i"), Owner: "o"}
	leased := func(r *fakeRows) { r.message("i", 3, 900); r.change("i", held) }
	sticky := changedTo(func(h *Head) { h.StickyOwner, h.StickyUntil = "o", 800 })
	return []ruleCase{
		does("release", leased, releases(clean), free).returns("[<nil>]").tells("turns f:1:1"),
		does("release ends stickiness and a delay", and(leased, sticky, changedTo(func(h *Head) { h.NotBefore = 1500 })), releases(clean),
			free+" StickyOwner= StickyUntil=0 NotBefore=0"),
		does("release with a delay", leased, releases(delayed), free+" NotBefore=1200").tells("due 1200"),
		does("release after the lease has expired", and(leased, changedTo(func(h *Head) { h.LeaseUntil = theElapsed })), releases(clean), free),
		does("another token leases it", leased, releases(provider.TurnRelease{Key: u("i"), Token: u("m")})).returns(lost),
		does("nobody leases it", nil, releases(clean)).returns(lost),
		does("it is gone", gone, releases(clean)).returns(lost),
		does("the second of the same", leased, releases(clean, clean), free).returns("[<nil> lease lost]"),
		does("a turn failed", leased, releases(failed),
			"Block i: panic at 1000, fresh true", "StoreHead i: Blocked=true RetryAt=1200 LeaseToken= LeaseOwner= LeaseUntil=0").
			returns("[<nil>]").tells("due 1200, changed i"),
		does("a turn failed again, and is held", and(leased, changedTo(func(h *Head) { h.Blocked, h.RetryAt = true, 900 })), releases(hold),
			"Block i: panic at 1000, fresh false", "StoreHead i: RetryAt=0 LeaseToken= LeaseOwner= LeaseUntil=0").tells("changed i"),
		does("a turn failed without a lease", nil, releases(failed)).returns(lost),
		does("all of a token", func(r *fakeRows) {
			leased(r)
			r.instance("j", held)
			r.instance("k", held, func(h *Head) { h.LeaseUntil = theElapsed })
		}, releases(fetched),
			free, "StoreHead j: Deliveries=1 LeaseToken= LeaseOwner= LeaseUntil=0").returns("[<nil>]"),
		does("nothing of a token", nil, releases(fetched)).returns("[<nil>]"),
		does("unpin", sticky, releases(unpinned), "StoreHead i: StickyOwner= StickyUntil=0").returns("[<nil>]"),
		does("unpin for another owner", changedTo(func(h *Head) { h.StickyOwner, h.StickyUntil = "p", 800 }), releases(unpinned)).returns("[<nil>]"),
		does("unpin what is gone", gone, releases(unpinned)).returns("[<nil>]"),
	}
}
