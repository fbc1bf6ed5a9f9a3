package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/perdure/perdure/provider/internal/relational"
)

// LimitPages makes SQLite report a full disk when the file has grown by more pages. 0 ends that.
func LimitPages(ctx context.Context, p *Provider, more int64) error {
	// It is urgent, so that it runs before the calls that it concerns.
	m := &relational.Member{Op: "limit"}
	_, err := relational.Do(ctx, p.enqueue, m, true, func(_ *relational.Tx, _ *struct{}) error {
		t := p.store.writer.tx
		most := int64(1 << 30)
		if more > 0 {
			pages, err := t.integer(`PRAGMA page_count`)
			if err != nil {
				return err
			}
			most = pages + more
		}
		_, err := t.integer(fmt.Sprint(`PRAGMA max_page_count = `, most))
		return err
	})
	return err
}

// ClockOf returns a function that sets the wall clock that a store reads ahead of the real one.
func ClockOf(p *Provider) func(time.Duration) {
	return func(ahead time.Duration) { setClock(p, ahead) }
}
