package validations

import (
	"context"
	"errors"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenRelease() []brokenRule {
	return []brokenRule{
		{name: "a release keeps the delivery", caught: "release-turns/clean", breaks: keepsDeliveries},
		{name: "the delay of a release is forgotten", caught: "release-turns/delay", breaks: releases(forgetsDelay)},
		{name: "the message of a failure is forgotten", caught: "release-turns/failure", breaks: releases(forgetsWhy)},
		{name: "each failure counts as the first", caught: "release-turns/failure-count", breaks: gets(countsOneFailure)},
		{name: "a held instance is tried again", caught: "release-turns/hold", breaks: releases(holdsNothing)},
		{name: "a release by a wrong token succeeds", caught: "release-turns/wrong-token", breaks: releasesForAnyone},
		{name: "releases after a refused one are left out", caught: "release-turns/each-for-itself", breaks: stopsAtRefusal},
		{name: "releasing twice ends the lease of another", caught: "release-turns/twice", breaks: releasesTheNext},
		{name: "a failed turn changes the version", caught: "release-turns/version-stays", breaks: countsFailuresAsChanges},
		{name: "a release without a key ends nothing", caught: "release-turns/all-of-a-token", breaks: releases(needsKey)},
		{name: "a commit leaves an instance blocked", caught: "release-turns/commit-unblocks", breaks: staysBlocked},
	}
}

// releases changes the items of ReleaseTurns.
func releases(change func(*provider.TurnRelease)) func(*mutant) {
	return func(m *mutant) {
		m.release.before(func(req *provider.ReleaseTurnsRequest) {
			items := make([]provider.TurnRelease, 0, len(req.Items))
			for _, item := range req.Items {
				change(&item)
				items = append(items, item)
			}
			req.Items = items
		})
	}
}

// released calls told after each release of a lease by its key.
func released(told func(m *mutant, item provider.TurnRelease, err error)) func(*mutant) {
	return func(m *mutant) {
		m.release.after(func(req provider.ReleaseTurnsRequest, res *provider.ReleaseTurnsResult, _ *error) {
			for n, err := range res.Errs {
				told(m, req.Items[n], err)
			}
		})
	}
}

// gets changes the instances that Get returns.
func gets(change func(*provider.Instance)) func(*mutant) {
	return func(m *mutant) {
		m.get.after(func(_ provider.GetRequest, res *provider.GetResult, _ *error) { change(&res.Instance) })
	}
}

func keepsDeliveries(m *mutant) {
	var kept sync.Map
	released(func(_ *mutant, item provider.TurnRelease, err error) {
		if err == nil && item.Failure == nil && item.Delay == 0 {
			kept.Store(item.Key, true)
		}
	})(m)
	gets(func(i *provider.Instance) {
		if _, ok := kept.Load(i.Key); ok {
			i.Deliveries++
		}
	})(m)
}

func forgetsDelay(item *provider.TurnRelease) {
	if item.Failure == nil {
		item.Delay = 0
	}
}

func forgetsWhy(item *provider.TurnRelease) {
	if item.Failure != nil {
		item.Failure = &provider.TurnFailure{Reason: item.Failure.Reason, Hold: item.Failure.Hold}
	}
}

func countsOneFailure(i *provider.Instance) {
	if i.Blocked != nil {
		i.Blocked.Count = 1
	}
}

func holdsNothing(item *provider.TurnRelease) {
	if item.Failure != nil {
		item.Failure = &provider.TurnFailure{Reason: item.Failure.Reason, Message: item.Failure.Message}
	}
}

func releasesForAnyone(m *mutant) {
	m.release.after(func(req provider.ReleaseTurnsRequest, res *provider.ReleaseTurnsResult, _ *error) {
		for n, item := range req.Items[:len(res.Errs)] {
			if !m.stored(context.Background(), item.Key).Key.IsZero() {
				res.Errs[n] = nil
			}
		}
	})
}

func stopsAtRefusal(m *mutant) {
	m.release.around(func(ctx context.Context, req provider.ReleaseTurnsRequest, release releaseMethod) (provider.ReleaseTurnsResult, error) {
		if len(req.Items) > provider.MaxBatch {
			return release(ctx, req)
		}
		var all provider.ReleaseTurnsResult
		var refused error
		for _, item := range req.Items {
			if refused != nil {
				all.Errs = append(all.Errs, refused)
				continue
			}
			res, err := release(ctx, provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{item}})
			if err != nil {
				return res, err
			}
			refused = res.Errs[0]
			all.Errs = append(all.Errs, refused)
		}
		return all, nil
	})
}

func releasesTheNext(m *mutant) {
	holder := m.holders()
	var before sync.Map
	released(func(m *mutant, item provider.TurnRelease, err error) {
		if err == nil {
			before.Store(item.Token, true)
		}
		if _, again := before.Load(item.Token); again && errors.Is(err, provider.ErrLeaseLost) {
			next := provider.TurnRelease{Key: item.Key, Token: holder(item.Key)}
			_, _ = m.Provider.ReleaseTurns(context.Background(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{next}})
		}
	})(m)
}

func countsFailuresAsChanges(m *mutant) {
	released(func(m *mutant, item provider.TurnRelease, err error) {
		if err == nil && item.Failure != nil {
			m.touch(context.Background(), item.Key)
		}
	})(m)
}

func needsKey(item *provider.TurnRelease) {
	if item.Kind == provider.ReleaseToken {
		item.Token = unique()
	}
}

func staysBlocked(m *mutant) {
	var flags sync.Map
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		was := m.stored(ctx, req.Key).Blocked
		res, err := commit(ctx, req)
		if err == nil && was != nil {
			flags.Store(req.Key, was)
		}
		return res, err
	})
	gets(func(i *provider.Instance) {
		if was, ok := flags.Load(i.Key); ok {
			i.Blocked, _ = was.(*provider.Blocked)
		}
	})(m)
}
