package sqlite

import (
	"context"
	"errors"
)

const (
	sqlBoot          = `SELECT value FROM perdure_meta WHERE name = 'boot'`
	sqlSetBoot       = `INSERT INTO perdure_meta (name, value) VALUES ('boot', ?) ON CONFLICT DO UPDATE SET value = excluded.value`
	sqlEndNamed      = `UPDATE perdure_lease SET until = 0`
	sqlEndAsks       = `DELETE FROM perdure_ask`
	sqlDropAllOwners = `DELETE FROM perdure_owner`
)

// A leaseEnding ends all leases of a kind. If a row is damaged, find lists the leases from the index and one ends each of them,
// so that the others are free.
type leaseEnding struct{ all, find, one string }

//nolint:gochecknoglobals // constant table
var leaseEndings = []leaseEnding{
	{
		`UPDATE perdure_instance SET lease_until = 1 WHERE lease_until > 0`,
		`SELECT key FROM perdure_instance WHERE lease_until > 0`,
		`UPDATE perdure_instance SET lease_until = 1 WHERE key = ?`,
	},
	{
		`UPDATE perdure_task SET lease_until = 1 WHERE lease_until > 0`,
		`SELECT key, execution, event_id FROM perdure_task WHERE lease_until > 0`,
		`UPDATE perdure_task SET lease_until = 1 WHERE key = ? AND execution = ? AND event_id = ?`,
	},
	{
		`UPDATE perdure_instance SET sticky_until = 0 WHERE sticky_until > 0 AND fetch_at IS NOT NULL`,
		`SELECT key FROM perdure_instance WHERE fetch_at IS NOT NULL`,
		`UPDATE perdure_instance SET sticky_until = 0 WHERE key = ?`,
	},
}

// reapLeases ends leases whose holders cannot be alive: all of them after a reboot, when the elapsed clock restarts, or when no
// other process has the file open.
func (s *store) reapLeases(ctx context.Context, c *conn) error {
	boot, stored := s.clock.boot(), ""
	if _, err := c.one(ctx, sqlBoot, func(r *row) { stored = r.text(0) }); err != nil {
		return err
	}
	rebooted := boot != stored && boot != ""
	if !rebooted && !s.presence.alone() {
		return nil
	}
	for i := range leaseEndings {
		if err := s.endLeases(ctx, c, &leaseEndings[i]); err != nil {
			return err
		}
	}
	return inTransaction(ctx, c, func() error {
		work := []string{sqlEndAsks, sqlDropAllOwners}
		if rebooted {
			work = append(work, sqlEndNamed)
			if _, err := c.exec(ctx, sqlSetBoot, boot); err != nil {
				return err
			}
		}
		for _, sql := range work {
			if _, err := c.exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// endLeases ends the leases of one kind, except those on damaged pages. No process can take these over, and opening the file must
// still succeed so that it can be inspected.
func (s *store) endLeases(ctx context.Context, c *conn, e *leaseEnding) error {
	_, err := c.exec(ctx, e.all)
	if !damaged(err) {
		return err
	}
	s.log.Error("perdure sqlite: the file is damaged: some leases cannot be ended", "path", s.path, "error", err)
	var items [][]any
	err = c.each(ctx, e.find, func(r *row) error {
		item := []any{r.uuid(0)}
		for i := 1; i < len(r.vals); i++ {
			item = append(item, r.int(i))
		}
		items = append(items, item)
		return nil
	})
	if err != nil && !damaged(err) {
		return err
	}
	for _, item := range items {
		if _, err := c.exec(ctx, e.one, item...); err != nil && !damaged(err) {
			return err
		}
	}
	return nil
}

// inTransaction runs fn in a transaction of a connection that is not yet the writer's.
func inTransaction(ctx context.Context, c *conn, fn func() error) error {
	if _, err := c.exec(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	err := fn()
	if err == nil {
		_, err = c.exec(ctx, "COMMIT")
	}
	if err != nil {
		_, e := c.exec(ctx, "ROLLBACK")
		if e != nil && !noTransaction(e) {
			err = errors.Join(err, e)
		}
	}
	return err
}
