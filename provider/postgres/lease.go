package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
)

const (
	sqlAcquireLease = `INSERT INTO perdure.lease AS l (name, owner, token, until)
	SELECT $1, $2, $3, ` + sqlNow + ` + $4::bigint
	ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, token = excluded.token, until = excluded.until
	WHERE l.token = excluded.token OR l.until <= excluded.until - $4::bigint RETURNING owner, until, until - $4::bigint`
	sqlReleaseLease = `DELETE FROM perdure.lease WHERE name = $1 AND token = $2 RETURNING ` + sqlNow
	sqlLeaseHolder  = `SELECT owner, until, ` + sqlNow + ` FROM perdure.lease WHERE name = $1 AND until > ` + sqlNow
)

// Lease implements [provider.Provider]. Releasing what another token holds, or nobody,
// answers ErrLeaseLost with the holder.
func (p *Provider) Lease(ctx context.Context, req provider.LeaseRequest) (res provider.LeaseResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	err = p.autocommit(ctx, "lease", func(ctx context.Context, pool *pgxpool.Pool) error {
		res = provider.LeaseResult{}
		var err error
		if req.Action == provider.LeaseRelease {
			err = pool.QueryRow(ctx, p.names.sql(sqlReleaseLease), req.Name, uuid(req.Token)).Scan(&res.Now)
		} else {
			err = pool.QueryRow(ctx, p.names.sql(sqlAcquireLease), req.Name, req.Owner, uuid(req.Token), req.Duration.Microseconds()).
				Scan(&res.Owner, &res.Until, &res.Now)
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		err = pool.QueryRow(ctx, p.names.sql(sqlLeaseHolder), req.Name).Scan(&res.Owner, &res.Until, &res.Now)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return err
		}
		return fmt.Errorf("lease %q: %w", req.Name, provider.ErrLeaseLost)
	})
	return res, err
}
