package sqlite

import (
	"context"
	"errors"
	"fmt"

	"github.com/perdure/perdure/provider"
)

const (
	// compactPages is how many pages one transaction gives back. Each may be moved, and with it a page that points to it.
	compactPages = 64
	// incremental is the mode of SQLite in which a file can give back free pages without being written anew.
	incremental = 2

	sqlVacuumMode = `PRAGMA auto_vacuum`
	sqlFreePages  = `PRAGMA freelist_count`
	sqlPages      = `PRAGMA page_count`
	sqlPageSize   = `PRAGMA page_size`
	// sqlIncremental has no effect on a file that has tables, before it is rebuilt.
	sqlIncremental = `PRAGMA auto_vacuum = INCREMENTAL`
)

//nolint:gochecknoglobals // constant
var sqlReleasePages = fmt.Sprintf("PRAGMA incremental_vacuum(%d)", compactPages)

// Compact implements [provider.Compactor]. A file shrinks when SQLite next folds its log into it.
func (cl *cleaner) Compact(ctx context.Context, req provider.CompactRequest) (res provider.CompactResult, err error) {
	if err := req.Validate(); err != nil {
		return res, err
	}
	if req.Bytes > 0 || req.Rebuild {
		if cl.readOnly {
			return res, refused("compact")
		}
		if err := provider.CheckPast(ctx); err != nil {
			return res, fmt.Errorf("compact: %w", err)
		}
	}
	before, err := cl.space(ctx)
	if err != nil {
		return res, err
	}
	if req.Rebuild {
		if err := cl.rebuild(ctx); err != nil {
			return res, err
		}
	}
	if !req.Rebuild && !before.Fixed {
		for freed := int64(0); freed < req.Bytes && freed < before.Free; {
			n, err := cl.releasePages(ctx)
			if err != nil {
				return res, err
			}
			if freed += n; n == 0 {
				break
			}
		}
	}
	res, err = cl.space(ctx)
	res.Freed = max(before.Size-res.Size, 0)
	return res, err
}

// space returns how large the store is.
func (cl *cleaner) space(ctx context.Context) (res provider.CompactResult, err error) {
	err = cl.readSnapshot(ctx, "compact", func(c *conn) error {
		defer c.evict(sqlVacuumMode) // its prepared form has the value
		var list [4]int64
		for n, sql := range []string{sqlPages, sqlFreePages, sqlPageSize, sqlVacuumMode} {
			if list[n], err = c.integer(ctx, sql); err != nil {
				return err
			}
		}
		pages, free, size, mode := list[0], list[1], list[2], list[3]
		res = provider.CompactResult{Free: free * size, Size: pages * size, Fixed: mode != incremental}
		return nil
	})
	return res, err
}

// releasePages gives back some pages in a transaction of its own, and returns their bytes.
func (cl *cleaner) releasePages(ctx context.Context) (int64, error) {
	return write(ctx, cl.handle, "compact", 0, func(t *tx, freed *int64) error {
		if err := t.Flush(); err != nil {
			return err
		}
		before, err := t.integer(sqlPages)
		if err != nil {
			return err
		}
		if err := t.each(sqlReleasePages, func(*row) error { return nil }); err != nil {
			return err
		}
		after, err := t.integer(sqlPages)
		if err != nil {
			return err
		}
		size, err := t.integer(sqlPageSize)
		*freed = (before - after) * size
		t.Changes++
		return err
	})
}

// rebuild writes the file anew, on a connection of its own. All writers of the file wait until that is done.
func (cl *cleaner) rebuild(ctx context.Context) (err error) {
	if err := cl.door.Enter(ctx); err != nil {
		return err
	}
	defer cl.door.Leave()
	s := cl.store
	if err := s.writeQueue.enter(ctx.Done(), cl.door.Closing); err != nil {
		return failed("compact", err, provider.OutcomeNothing)
	}
	defer s.writeQueue.leave()
	c, err := connect(ctx, s.dsn)
	if err != nil {
		return failed("compact", err, provider.OutcomeNothing)
	}
	defer func() { err = errors.Join(err, failed("compact", c.close(), provider.OutcomeHappened)) }()
	for _, sql := range []string{sqlIncremental, "VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
		if err := c.script(ctx, sql); err != nil {
			return failed("compact", err, provider.OutcomeUnknown)
		}
	}
	return nil
}
