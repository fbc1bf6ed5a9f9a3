package sqlite

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

const (
	sqlNamedLease   = `SELECT owner, token, until FROM perdure_lease WHERE name = ?`
	sqlAcquireNamed = `INSERT INTO perdure_lease (name, owner, token, until) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET owner = excluded.owner, token = excluded.token, until = excluded.until`
	sqlReleaseNamed = `DELETE FROM perdure_lease WHERE name = ?`
)

// shared are the calls for what nodes share apart from instances: named leases and records.
type shared struct{ *handle }

// Lease implements [provider.Keeper]. Releasing a lease that another token holds, or none, returns ErrLeaseLost with the
// holder.
func (sh *shared) Lease(ctx context.Context, req provider.LeaseRequest) (provider.LeaseResult, error) {
	if err := req.Validate(); err != nil {
		return provider.LeaseResult{}, err
	}
	type outcome struct {
		res  provider.LeaseResult
		lost bool
	}
	out, err := write(ctx, sh.handle, "lease", 0, func(t *tx, out *outcome) (err error) {
		out.res, out.lost, err = t.namedLease(&req)
		return err
	})
	if err == nil && out.lost {
		err = fmt.Errorf("lease %q: %w", req.Name, provider.ErrLeaseLost)
	}
	return out.res, err
}

func (t *tx) namedLease(req *provider.LeaseRequest) (res provider.LeaseResult, lost bool, err error) {
	res.Now = t.Now
	var owner string
	var token provider.UUID
	var until int64
	found, err := t.one(sqlNamedLease, func(r *row) { owner, token, until = r.text(0), r.uuid(1), r.int(2) }, req.Name)
	if err != nil {
		return res, false, err
	}
	live := found && until > t.Elapsed
	if live && token != req.Token {
		res.Owner, res.Until = owner, t.Wall(until)
		return res, true, nil
	}
	if req.Action == provider.LeaseRelease {
		if !found || token != req.Token {
			return res, true, nil
		}
		_, err = t.exec(sqlReleaseNamed, req.Name)
		return res, false, err
	}
	end := t.Elapsed + micros(req.Duration)
	res.Owner, res.Until = req.Owner, t.Wall(end)
	_, err = t.exec(sqlAcquireNamed, req.Name, req.Owner, req.Token, end)
	return res, false, err
}
