package postgres

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5/pgconn"
)

// prepare makes the connection prepare the statements that it does not know, all in one round trip.
func (o *outgoing) prepare(ctx context.Context, statements ...string) error {
	var wanted []string
	for _, sql := range statements {
		if o.prepared[sql] == nil && !slices.Contains(wanted, sql) {
			wanted = append(wanted, sql)
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	pipeline := o.conn.PgConn().StartPipeline(ctx)
	for _, sql := range wanted {
		pipeline.SendPrepare(nameOf(sql), sql, nil)
	}
	if err := pipeline.Sync(); err != nil {
		_ = pipeline.Close() // it returns the same error
		return fmt.Errorf("preparing statements: %w", err)
	}
	for _, sql := range wanted { // those before a refused one are prepared
		result, err := pipeline.GetResults()
		known, ok := result.(*pgconn.StatementDescription)
		if !ok { // it was refused
			_ = pipeline.Close()
			return fmt.Errorf("preparing %.60q: %w", sql, err)
		}
		known.Name = nameOf(sql)
		o.prepared[sql] = known
	}
	return pipeline.Close()
}

// nameOf returns the name of a statement. It is unique among all processes: an undeclared pooler may lend a server
// connection on which another process prepared its own statements.
func nameOf(sql string) string {
	sum := sha256.Sum256([]byte(sql))
	return fmt.Sprintf("perdure_%x", sum[:8])
}
