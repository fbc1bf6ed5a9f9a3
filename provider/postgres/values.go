package postgres

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
)

// uuid turns a UUID into the driver's; the zero value is null.
func uuid(u provider.UUID) pgtype.UUID { return pgtype.UUID{Bytes: u, Valid: !u.IsZero()} }

func uuids(list []provider.UUID) []pgtype.UUID {
	out := make([]pgtype.UUID, len(list))
	for i, u := range list {
		out[i] = uuid(u)
	}
	return out
}

// target reads a UUID that may be null.
type target provider.UUID

// ScanUUID implements [pgtype.UUIDScanner].
func (t *target) ScanUUID(v pgtype.UUID) error {
	*t = target{}
	if v.Valid {
		*t = v.Bytes
	}
	return nil
}

func into(u *provider.UUID) *target { return (*target)(u) }

// columns collects the arguments of a statement over arrays, column by column.
type columns struct {
	args []any
	lone bool // there is one row: its values stand for themselves
}

// column adds one: the value of each row.
func column[Row, T any](c *columns, rows []Row, value func(*Row) T) {
	if c.lone {
		c.args = append(c.args, value(&rows[0]))
		return
	}
	list := make([]T, len(rows))
	for i := range rows {
		list[i] = value(&rows[i])
	}
	c.args = append(c.args, list)
}
