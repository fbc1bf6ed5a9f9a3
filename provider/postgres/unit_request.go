package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
)

const (
	sqlAddRequest = `INSERT INTO perdure.request (key, number, request_id)
	SELECT $1::uuid, coalesce(max(number), 0) + 1, $2::text FROM perdure.request WHERE key = $1::uuid
	ON CONFLICT (key, request_id) DO NOTHING RETURNING number`
	sqlTrimRequests = `DELETE FROM perdure.request WHERE key = $1 AND number <= $2`
)

// AddRequest implements [relational.Rows]. The lock of the instance keeps others out.
func (r *inboxRows) AddRequest(key provider.UUID, request string) (fresh bool, err error) {
	rows, err := r.t.query(sqlAddRequest, uuid(key), request)
	if err != nil {
		return false, err
	}
	numbers, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil || len(numbers) == 0 {
		return false, err
	}
	_, err = r.t.conn.Exec(r.t.ctx, r.t.db.names.sql(sqlTrimRequests), uuid(key), numbers[0]-provider.MaxRequests)
	return true, err
}
