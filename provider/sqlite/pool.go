package sqlite

import (
	"context"
	"errors"

	sqlite "modernc.org/sqlite"
)

const (
	// readers is how many connections read.
	readers = 4
	// readerCache is how many KiB of pages each of them may cache. readerMost is the most bytes that this takes, including what
	// SQLite stores for each page.
	readerCache = 2000
	readerMost  = readerCache * 1024 * 5 / 4
)

// A pool lends reading connections. They hold no transaction between calls.
type pool struct {
	free chan *conn
	all  []*conn
}

func newPool(ctx context.Context, dsn string) (*pool, error) {
	p := &pool{free: make(chan *conn, readers)}
	for range readers {
		c, err := connect(ctx, dsn)
		if err != nil {
			return nil, errors.Join(err, p.close())
		}
		p.all = append(p.all, c)
		p.free <- c
	}
	return p, nil
}

// with lends a connection to fn, which may read in several statements that need not see the same state.
func (p *pool) with(ctx context.Context, fn func(*conn) error) error {
	select {
	case c := <-p.free:
		defer func() {
			c.shrinkCache(context.WithoutCancel(ctx))
			p.free <- c
		}()
		return fn(c)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// shrinkCache frees the pages of a connection that has more than it may. All connections of a process share one list of reusable
// pages. A connection that reads much takes the least recently used ones, also those of the writer. Until it gives them back,
// the writer can cache less, and reads the same pages again and again.
func (c *conn) shrinkCache(ctx context.Context) {
	file, ok := c.raw.(connection)
	if !ok {
		return
	}
	if n, _, err := file.Status(sqlite.DBStatusCacheUsed, false); err == nil && n > readerMost {
		_ = c.script(ctx, "PRAGMA shrink_memory") // a script, because this pragma acts when it is prepared; it cannot fail
	}
}

// snapshot lends a connection to fn inside one read transaction.
func (p *pool) snapshot(ctx context.Context, fn func(*conn) error) error {
	return p.with(ctx, func(c *conn) (err error) {
		plain := context.WithoutCancel(ctx)
		if _, err := c.exec(plain, "BEGIN"); err != nil {
			return err
		}
		defer func() {
			if _, e := c.exec(plain, "COMMIT"); err == nil {
				err = e
			}
		}()
		return fn(c)
	})
}

func (p *pool) close() error {
	errs := make([]error, 0, len(p.all))
	for _, c := range p.all {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}
