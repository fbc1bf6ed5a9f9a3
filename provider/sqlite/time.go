package sqlite

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

const (
	sqlSaveTime = `INSERT INTO perdure_meta (name, value) VALUES ('time', ?) ON CONFLICT DO UPDATE SET value = excluded.value`
	sqlTime     = `SELECT value FROM perdure_meta WHERE name = 'time'`
	sqlNewest   = `SELECT created_at FROM perdure_instance ORDER BY created_at DESC LIMIT 1`
)

// saveTime stores the store's time together with the elapsed clock, for processes that open the file after the wall clock was
// set back.
func (w *writer) saveTime() error {
	w.store.log.Warn("perdure sqlite: the wall clock was set back; the store's time goes on, slower until the clock has caught up",
		"path", w.store.path)
	return w.committer.run(func() error {
		return w.tx.do(sqlSaveTime, fmt.Sprintf("%s %d %d", w.store.clock.boot(), w.tx.Now, bootMicros()))
	})
}

// restoreTime starts the store's time no earlier than the newest instance, and no earlier than the saved time. If that was saved
// in this boot, the time since then is added.
func (s *store) restoreTime(ctx context.Context, c *conn) error {
	newest, err := c.integer(ctx, sqlNewest)
	if err != nil && !damaged(err) {
		return err
	}
	saved := ""
	if _, err := c.one(ctx, sqlTime, func(r *row) { saved = r.text(0) }); err != nil {
		return err
	}
	var boot string
	var at, elapsed int64
	if n, _ := fmt.Sscanf(saved, "%s %d %d", &boot, &at, &elapsed); n == 3 && boot == s.clock.boot() {
		passed := max(bootMicros()-elapsed, 0)
		at += passed - passed/slew
	}
	s.clock.atLeast(provider.Time(max(at, newest)))
	return nil
}
