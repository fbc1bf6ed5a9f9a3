package validations

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenFence() []brokenRule {
	return []brokenRule{
		{name: "a commit of the only instance may expect a version that never was", caught: "fence/version", breaks: acceptsUnknownVersion},
		{name: "a commit finds its instance by the version", caught: "fence/key", breaks: findsByVersion},
		{name: "a commit of an execution to come is stored with the current one", caught: "fence/execution", breaks: storesWith(laterExecution)},
		{name: "a commit ignores the expected length", caught: "fence/length", breaks: storesWith(anotherLength)},
		{name: "a consumed message that is gone is ignored", caught: "fence/consumed-is-gone", breaks: consumesWhatIsThere},
		{name: "a commit of a suspended instance succeeds", caught: "fence/suspended", breaks: saysStored(isSuspended)},
		{name: "a commit of an ended instance succeeds", caught: "fence/ended", breaks: saysStored(hasEnded)},
		{name: "a commit of a deleted idle instance succeeds", caught: "fence/deleted", breaks: saysDeletedStored},
		{name: "a resume brings the version back", caught: "fence/steered", breaks: resumesVersion},
		{name: "a repeated commit is a conflict", caught: "fence/same-commit-again", breaks: forgetsCommits(setsTimers)},
		{name: "a repeated close is a conflict", caught: "fence/same-close-again", breaks: forgetsCommits(closesInstance)},
		{name: "a commit reads the version before it locks", caught: "fence/racing-commits", racing: true, breaks: fencesTooEarly},
		{name: "a commit is looked for before the lock", caught: "fence/racing-repeats", racing: true, breaks: looksForCommitEarly},
		{name: "a commit after the lease is a conflict", caught: "fence/lease-is-a-hint", breaks: demandsLease},
		{name: "a turn without events leaves the version", caught: "fence/eventless-turn", breaks: leavesVersion},
	}
}

// acceptsUnknownVersion accepts a commit that expects a version which no create, steer or commit has written, if there is one
// instance.
func acceptsUnknownVersion(m *mutant) {
	var known sync.Map
	m.create.before(func(req *provider.CreateRequest) { known.Store(req.Commit, true) })
	m.steer.before(func(req *provider.SteerRequest) { known.Store(req.Commit, true) })
	commits(func(req *provider.CommitTurnRequest) {
		known.Store(req.Commit, true)
		all, _ := m.Provider.Count(context.Background(), provider.CountRequest{})
		if _, ok := known.Load(req.Expected); !ok && all.Count == 1 {
			req.Expected = m.stored(context.Background(), req.Key).Version
		}
	})(m)
}

func findsByVersion(m *mutant) {
	commits(func(req *provider.CommitTurnRequest) {
		all, _ := m.Provider.List(context.Background(), provider.ListRequest{})
		for _, i := range all.Instances {
			if i.Version == req.Expected {
				req.Key = i.Key
			}
		}
	})(m)
}

// storesWith changes commits that expect the stored version.
func storesWith(change func(i provider.Instance, req *provider.CommitTurnRequest)) func(*mutant) {
	return func(m *mutant) {
		commits(func(req *provider.CommitTurnRequest) {
			if i := m.stored(context.Background(), req.Key); i.Version == req.Expected {
				change(i, req)
			}
		})(m)
	}
}

func laterExecution(i provider.Instance, req *provider.CommitTurnRequest) {
	req.Execution = min(req.Execution, i.Execution)
}

func anotherLength(i provider.Instance, req *provider.CommitTurnRequest) {
	req.Length = i.HistoryLength
}

func consumesWhatIsThere(m *mutant) {
	commits(func(req *provider.CommitTurnRequest) {
		if len(req.Consumed) > provider.MaxCommitRows {
			return
		}
		waiting := m.inbox(context.Background(), req.Key)
		req.Consumed = slices.DeleteFunc(slices.Clone(req.Consumed), func(id int64) bool {
			return !slices.ContainsFunc(waiting, func(m provider.MessageRow) bool { return m.ID == id })
		})
	})(m)
}

// saysStored returns no error for a conflict with some instances.
func saysStored(refused func(provider.Instance) bool) func(*mutant) {
	return func(m *mutant) {
		m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
			i := m.stored(context.Background(), req.Key)
			if errors.Is(*err, provider.ErrConflict) && i.Version == req.Expected && refused(i) {
				*err = nil
			}
		})
	}
}

func hasEnded(i provider.Instance) bool { return i.Status.Ended() }

func saysDeletedStored(m *mutant) {
	var deleted sync.Map
	m.remove.before(func(req *provider.DeleteRequest) {
		if isIdle(m.stored(context.Background(), req.Key)) {
			deleted.Store(req.Key, true)
		}
	})
	m.commit.after(func(req provider.CommitTurnRequest, _ *provider.CommitTurnResult, err *error) {
		if _, ok := deleted.Load(req.Key); ok {
			*err = nil
		}
	})
}

// resumesVersion accepts the version before a suspension as that after the resume.
func resumesVersion(m *mutant) {
	var before sync.Map // by the version that suspended or resumed
	m.steer.around(func(ctx context.Context, req provider.SteerRequest, steer steerMethod) (provider.SteerResult, error) {
		was := m.stored(ctx, req.Key).Version
		res, err := steer(ctx, req)
		if oldest, ok := before.Load(was); ok {
			before.Store(req.Commit, oldest)
		} else if req.Action == provider.SteerSuspend {
			before.Store(req.Commit, was)
		}
		return res, err
	})
	commits(func(req *provider.CommitTurnRequest) {
		i := m.stored(context.Background(), req.Key)
		if was, ok := before.Load(i.Version); ok && was == req.Expected && i.Status == provider.StatusRunning {
			req.Expected = i.Version
		}
	})(m)
}

// forgetsCommits returns a conflict for repeats of some commits.
func forgetsCommits(forgets func(provider.CommitTurnRequest) bool) func(*mutant) {
	return func(m *mutant) {
		m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
			if m.stored(ctx, req.Key).Version == req.Commit && forgets(req) {
				return provider.CommitTurnResult{}, provider.ErrConflict
			}
			return commit(ctx, req)
		})
	}
}

func setsTimers(req provider.CommitTurnRequest) bool { return len(req.Timers) > 0 }

func closesInstance(req provider.CommitTurnRequest) bool { return req.Status.Ended() }

func fencesTooEarly(m *mutant) {
	var mu sync.Mutex
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		seen := m.stored(ctx, req.Key)
		if seen.Version != req.Expected || seen.HistoryLength != req.Length {
			return commit(ctx, req)
		}
		window()
		mu.Lock()
		defer mu.Unlock()
		now := m.stored(ctx, req.Key)
		if !now.Key.IsZero() && now.Version != req.Commit {
			req.Expected, req.Length = now.Version, now.HistoryLength
		}
		return commit(ctx, req)
	})
}

func looksForCommitEarly(m *mutant) {
	var mu sync.Mutex
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		isNew := m.stored(ctx, req.Key).Version == req.Expected
		window()
		mu.Lock()
		defer mu.Unlock()
		if isNew && len(req.Sends) == 0 && m.stored(ctx, req.Key).Version == req.Commit {
			return provider.CommitTurnResult{}, provider.ErrConflict
		}
		return commit(ctx, req)
	})
}

func demandsLease(m *mutant) {
	holder := m.holders()
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		if !req.Lease.IsZero() && holder(req.Key) != req.Lease {
			return provider.CommitTurnResult{}, provider.ErrConflict
		}
		return commit(ctx, req)
	})
}

// leavesVersion still shows, and accepts, the version before a turn without events.
func leavesVersion(m *mutant) {
	var before sync.Map
	m.commit.around(func(ctx context.Context, req provider.CommitTurnRequest, commit commitMethod) (provider.CommitTurnResult, error) {
		shown := req.Expected
		version := m.stored(ctx, req.Key).Version
		if was, ok := before.Load(version); ok && was == shown && version != req.Commit {
			req.Expected = version
		}
		res, err := commit(ctx, req)
		if err == nil && len(req.Events) == 0 {
			before.Store(req.Commit, shown)
		}
		return res, err
	})
	gets(func(i *provider.Instance) {
		if was, ok := before.Load(i.Version); ok {
			i.Version, _ = was.(provider.UUID)
		}
	})(m)
}
