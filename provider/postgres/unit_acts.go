package postgres

import (
	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
)

const (
	sqlActs    = `SELECT acts FROM perdure.outcome WHERE key = $1`
	sqlSetActs = `INSERT INTO perdure.outcome (key, acts) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET acts = excluded.acts`
)

// Acts implements [relational.Rows].
func (r *instanceRows) Acts(key provider.UUID) ([]byte, error) {
	rows, err := r.t.query(sqlActs, uuid(key))
	if err != nil {
		return nil, err
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// SetActs implements [relational.Rows].
func (r *instanceRows) SetActs(key provider.UUID, acts []byte) error {
	rows, err := r.t.query(sqlSetActs, uuid(key), acts)
	if err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}
