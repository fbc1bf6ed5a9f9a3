package client

import (
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/internal/access"
	"github.com/perdure/perdure/internal/check"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/reserved"
	"github.com/perdure/perdure/provider"
)

// Filter selects instances. Zero fields do not restrict; all others must match. A store of a million instances finds a page by
// any of them in milliseconds: see docs/how-to/find-and-follow-instances.md.
type Filter struct { //nolint:recvcheck // callers pass it by value; some methods fill it in
	IDPrefix      string
	Orchestration string        // stored name
	CodeVersions  []string      // any of them; "" is code without a version
	Statuses      []Status      // any of them
	Blocked       bool          // only blocked ones
	Parent        provider.UUID // key of the instance that started them as children
	CreatedAfter  time.Time     // inclusive, by the storage's clock
	CreatedBefore time.Time     // exclusive
	EndedAfter    time.Time     // inclusive; only ended ones
	EndedBefore   time.Time     // exclusive; only ended ones
	Replaced      bool          // also instances whose ID now names a newer one
	Attributes    []AttributeFilter
	// Waiting finds only instances that wait with a text for people: see orchestration.Waiting. Without Statuses it finds none that have ended.
	Waiting bool
	// Retrying finds only instances with a pending activity that is tried again: see ActivitiesQuery. A store without provider.Features.Retrying
	// returns errors.ErrUnsupported.
	Retrying bool
	// FailureGroup finds only instances that failed with this group: see Client.FailureGroups. A store without provider.Features.FailureGroups
	// returns errors.ErrUnsupported.
	FailureGroup string
	System       bool // also the instances of perdure itself, such as schedules; an IDPrefix that begins with "perdure/" finds them, too
}

// users reports whether the filter leaves out the instances of perdure itself, some of which it may match.
func (f *Filter) users() bool { return !f.System && reserved.Reaches(f.IDPrefix) }

// filterOf is access.Caller.Filter.
func filterOf(f any) (stored provider.Filter, users bool, err error) {
	of, ok := f.(*Filter)
	if !ok {
		return stored, false, fmt.Errorf("%w: %T is no filter", ErrInvalid, f)
	}
	stored, err = of.stored()
	return stored, of.users(), err
}

// stored checks f and returns it in the storage's form.
func (f *Filter) stored() (provider.Filter, error) {
	stored := provider.Filter{IDPrefix: f.IDPrefix, Name: f.Orchestration, Blocked: f.Blocked, ParentKey: f.Parent, Replaced: f.Replaced}
	stored.Retrying, stored.FailureGroup = f.Retrying, f.FailureGroup
	stored.CodeVersions = slices.Compact(slices.Sorted(slices.Values(f.CodeVersions)))
	for _, err := range []error{
		access.Invalid(check.OptionalName("filter IDPrefix", f.IDPrefix)),
		access.Invalid(check.OptionalName("filter Orchestration", f.Orchestration)),
		access.Invalid(check.OptionalName("the group of failures of the filter", f.FailureGroup)),
		access.TimeBound(&stored.CreatedAfter, "CreatedAfter", f.CreatedAfter),
		access.TimeBound(&stored.CreatedBefore, "CreatedBefore", f.CreatedBefore),
		access.TimeBound(&stored.EndedAfter, "EndedAfter", f.EndedAfter),
		access.TimeBound(&stored.EndedBefore, "EndedBefore", f.EndedBefore),
		checkVersions(stored.CodeVersions),
	} {
		if err != nil {
			return stored, err
		}
	}
	for _, s := range f.Statuses {
		known, ok := provider.ParseStatus(string(s))
		if !ok || known > provider.StatusTerminated {
			return stored, fmt.Errorf("%w: status %q is none of an instance: give Running, Suspended, Completed, Failed, Cancelled or Terminated",
				ErrInvalid, s)
		}
		if !slices.Contains(stored.Statuses, known) {
			stored.Statuses = append(stored.Statuses, known)
		}
	}
	if f.Waiting {
		stored.Matches = append(stored.Matches, provider.AttributeMatch{
			Name: replay.AttributeWaiting, Kind: provider.AttributeInt, From: &provider.AttributeValue{Number: 1},
		})
		if len(stored.Statuses) == 0 {
			stored.Statuses = []provider.Status{provider.StatusRunning, provider.StatusSuspended}
		}
	}
	for i := range f.Attributes {
		a := &f.Attributes[i]
		if a.match.Name == "" && a.err == nil {
			a.value("") // of the zero value
		}
		if a.err != nil {
			return stored, a.err
		}
		stored.Matches = append(stored.Matches, a.match)
	}
	return stored, nil
}

func checkVersions(versions []string) error {
	if len(versions) > provider.MaxBatch {
		return fmt.Errorf("%w: filter CodeVersions has %d versions: give at most %d", ErrInvalid, len(versions), provider.MaxBatch)
	}
	for _, v := range versions {
		if err := check.OptionalName("filter CodeVersions", v); err != nil {
			return access.Invalid(err)
		}
	}
	return nil
}
