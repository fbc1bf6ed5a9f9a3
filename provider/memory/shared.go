package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// shared holds the named leases and records of the store's nodes.
type shared struct {
	*store

	leases  map[string]holder                     // by name
	records map[string]map[string]provider.Record // by namespace and key
}

// holder is the holder of a named lease.
type holder struct {
	token provider.UUID
	owner string
	until provider.Time
}

// Lease implements provider.Keeper.
func (sh *shared) Lease(ctx context.Context, req provider.LeaseRequest) (res provider.LeaseResult, err error) {
	err = sh.do(ctx, req, func(now provider.Time) error {
		res.Now = now
		h, held := sh.leases[req.Name]
		switch {
		case held && h.token != req.Token && h.until > now:
			res.Owner, res.Until = h.owner, h.until
			return provider.ErrLeaseLost
		case req.Action == provider.LeaseAcquire:
			h = holder{token: req.Token, owner: req.Owner, until: now.Add(req.Duration)}
			sh.leases[req.Name] = h
			res.Owner, res.Until = h.owner, h.until
		case !held || h.token != req.Token:
			return provider.ErrLeaseLost
		default:
			delete(sh.leases, req.Name)
		}
		sh.write()
		return nil
	})
	return res, err
}

// Record implements provider.Keeper.
func (sh *shared) Record(ctx context.Context, req provider.RecordRequest) (res provider.RecordResult, err error) {
	err = sh.do(ctx, req, func(now provider.Time) error {
		res.Now = now
		space := sh.records[req.Namespace]
		if req.Action == provider.RecordScan {
			res.Records = scan(space, &req)
			return nil
		}
		stored, found := space[req.Key]
		if req.Action == provider.RecordGet {
			if !found {
				return provider.ErrNotFound
			}
			stored.Value = slices.Clone(stored.Value)
			res.Records = []provider.Record{stored}
			return nil
		}
		if stored.Version != req.Expect {
			return provider.ErrConflict
		}
		sh.write()
		if req.Action == provider.RecordDelete {
			if stored.Version != 0 {
				res.Records = []provider.Record{stored}
			}
			delete(space, req.Key)
			return nil
		}
		if space == nil {
			space = map[string]provider.Record{}
			sh.records[req.Namespace] = space
		}
		stored = provider.Record{Key: req.Key, Value: slices.Clone(req.Value), Version: stored.Version + 1, UpdatedAt: now}
		space[req.Key] = stored
		stored.Value = slices.Clone(req.Value)
		res.Records = []provider.Record{stored}
		return nil
	})
	return res, err
}

func scan(space map[string]provider.Record, req *provider.RecordRequest) []provider.Record {
	var list []provider.Record
	for _, key := range slices.Sorted(maps.Keys(space)) {
		if key > req.Key && strings.HasPrefix(key, req.Prefix) && len(list) < cmp.Or(req.Max, provider.MaxPage) {
			r := space[key]
			r.Value = slices.Clone(r.Value)
			list = append(list, r)
		}
	}
	return list
}
