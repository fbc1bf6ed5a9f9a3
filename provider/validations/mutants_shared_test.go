package validations

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/perdure/perdure/provider"
)

func brokenShared() []brokenRule {
	return []brokenRule{
		{name: "a refused lease hides its owner", caught: "shared/lease-acquire", breaks: hidesLeaseHolder},
		{name: "a lease cannot be renewed", caught: "shared/lease-renew", breaks: leasesOnce},
		{name: "any token releases a lease", caught: "shared/lease-release", breaks: releasesForThieves},
		{name: "a lease is acquired twice at once", caught: "shared/lease-race", racing: true, breaks: leasesEarly},
		{name: "the version of a record stays 1", caught: "shared/record-put-and-get", breaks: staysAtOne},
		{name: "records of all namespaces are one", caught: "shared/record-unknown", breaks: readsAnyNamespace},
		{name: "a record is overwritten whatever its version", caught: "shared/record-expect", breaks: overwritesRecords},
		{name: "a record is written twice with one version", caught: "shared/record-race", racing: true, breaks: comparesEarly},
		{name: "records are scanned in no order", caught: "shared/record-scan", breaks: turnsScanRound},
	}
}

type leaseMethod = method[provider.LeaseRequest, provider.LeaseResult]

func hidesLeaseHolder(m *mutant) {
	m.lease.after(func(_ provider.LeaseRequest, res *provider.LeaseResult, err *error) {
		if *err != nil {
			res.Owner = ""
		}
	})
}

func leasesOnce(m *mutant) {
	var held sync.Map
	m.lease.after(func(req provider.LeaseRequest, _ *provider.LeaseResult, err *error) {
		if _, again := held.LoadOrStore(req.Token, true); again && req.Action == provider.LeaseAcquire {
			*err = provider.ErrLeaseLost
		}
	})
}

func releasesForThieves(m *mutant) {
	var held sync.Map
	m.lease.around(func(ctx context.Context, req provider.LeaseRequest, lease leaseMethod) (provider.LeaseResult, error) {
		res, err := lease(ctx, req)
		_, there := held.LoadOrStore(req.Name, true)
		if req.Action == provider.LeaseRelease && there && errors.Is(err, provider.ErrLeaseLost) {
			err = nil
		}
		return res, err
	})
}

// leasesEarly checks that a lease is free before it locks it.
func leasesEarly(m *mutant) {
	var held sync.Map
	m.lease.around(func(ctx context.Context, req provider.LeaseRequest, lease leaseMethod) (provider.LeaseResult, error) {
		_, taken := held.Load(req.Name)
		window()
		res, err := lease(ctx, req)
		held.Store(req.Name, true)
		if req.Action == provider.LeaseAcquire && !taken && errors.Is(err, provider.ErrLeaseLost) {
			return provider.LeaseResult{Owner: req.Owner, Until: res.Until, Now: res.Now}, nil
		}
		return res, err
	})
}

func staysAtOne(m *mutant) {
	m.record.after(func(req provider.RecordRequest, res *provider.RecordResult, _ *error) {
		for n := range res.Records {
			if req.Action == provider.RecordPut {
				res.Records[n].Version = 1
			}
		}
	})
}

func readsAnyNamespace(m *mutant) {
	m.record.before(func(req *provider.RecordRequest) {
		if req.Action == provider.RecordGet {
			req.Namespace = "n"
		}
	})
}

// current returns a record's version, 0 if there is none.
func (m *mutant) current(ctx context.Context, req provider.RecordRequest) int64 {
	res, err := m.Provider.Record(ctx, provider.RecordRequest{Action: provider.RecordGet, Namespace: req.Namespace, Key: req.Key})
	if err != nil {
		return 0
	}
	return res.Records[0].Version
}

func overwritesRecords(m *mutant) {
	m.record.around(func(ctx context.Context, req provider.RecordRequest, record recordMethod) (provider.RecordResult, error) {
		res, err := record(ctx, req)
		if stored := m.current(ctx, req); errors.Is(err, provider.ErrConflict) && stored > 0 {
			req.Expect = stored
			return record(ctx, req)
		}
		return res, err
	})
}

// comparesEarly compares versions before it locks the record.
func comparesEarly(m *mutant) {
	var mu sync.Mutex
	m.record.around(func(ctx context.Context, req provider.RecordRequest, record recordMethod) (provider.RecordResult, error) {
		if req.Action != provider.RecordPut || m.current(ctx, req) != req.Expect {
			return record(ctx, req)
		}
		window()
		mu.Lock()
		defer mu.Unlock()
		req.Expect = m.current(ctx, req)
		return record(ctx, req)
	})
}

func turnsScanRound(m *mutant) {
	m.record.after(func(_ provider.RecordRequest, res *provider.RecordResult, _ *error) { slices.Reverse(res.Records) })
}
