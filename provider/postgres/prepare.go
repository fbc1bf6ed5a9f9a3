package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
)

// prepare has the connection prepare those of the statements that it does not know, all in one round trip.
func (o *outgoing) prepare(ctx context.Context, statements ...string) error {
	var wanted []string
	for _, sql := range statements {
		if o.known[sql] == nil && !slices.Contains(wanted, sql) {
			wanted = append(wanted, sql)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	first := len(o.known)
	name := func(i int) string { return fmt.Sprintf("perdure_%d", first+i) }
	pipeline := o.conn.PgConn().StartPipeline(ctx)
	for i, sql := range wanted {
		pipeline.SendPrepare(name(i), sql, nil)
	}
	if err := pipeline.Sync(); err != nil {
		_ = pipeline.Close() // which tells the same
		return fmt.Errorf("preparing statements: %w", err)
	}
	for i, sql := range wanted { // those before one that is refused have been prepared
		result, err := pipeline.GetResults()
		known, ok := result.(*pgconn.StatementDescription)
		if !ok { // it was refused
			_ = pipeline.Close()
			return fmt.Errorf("preparing %.60q: %w", sql, err)
		}
		known.Name = name(i)
		o.known[sql] = known
	}
	return pipeline.Close()
}
