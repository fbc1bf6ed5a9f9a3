package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// Each new version of a row has another xmin. The hash of nothing is 0 for an instance that is gone.
const (
	// Most have neither tasks nor dead letters: those of all are sought together.
	sqlStamps = `WITH t AS MATERIALIZED (SELECT key, count(*) || ' ' || sum(xmin::text::numeric * event_id) AS stamp
		FROM perdure.task WHERE key = ANY($1) GROUP BY key),
	d AS MATERIALIZED (SELECT key, count(*) AS stamp FROM perdure.dead_letter WHERE key = ANY($1) GROUP BY key)
	SELECT n.nr, coalesce(hashtextextended((SELECT i.xmin::text FROM perdure.instance i WHERE i.key = n.key) || ' ' ||
	coalesce((SELECT o.xmin::text FROM perdure.outcome o WHERE o.key = n.key), '') || ' ' || coalesce(t.stamp, '') || ' ' || coalesce(d.stamp, 0), 0), 0)
	FROM unnest($1::uuid[], $2::bigint[]) n (key, nr) LEFT JOIN t ON t.key = n.key LEFT JOIN d ON d.key = n.key`
	sqlValueStamps = `SELECT n.nr, coalesce(hashtextextended(
	(SELECT i.status || ' ' || i.blocked FROM perdure.instance i WHERE i.key = n.key) || ' ' ||
	coalesce((SELECT v.xmin::text FROM perdure.value v WHERE v.key = n.key AND v.name = n.name), ''), 0), 0)
	FROM unnest($1::uuid[], $2::text[], $3::bigint[]) n (key, name, nr)`
)

// Stamps implements [relational.Storage], in one round trip.
func (s storage) Stamps(ctx context.Context, list []relational.Followed) (stamps []uint64, err error) {
	var keys, valueKeys []provider.UUID
	var names []string
	var at, valueAt []int64 // where the results of each statement go
	for i, what := range list {
		if what.Name == "" {
			keys, at = append(keys, what.Key), append(at, int64(i))
		} else {
			valueKeys, names, valueAt = append(valueKeys, what.Key), append(names, what.Name), append(valueAt, int64(i))
		}
	}
	err = s.db.read(ctx, "get", func(ctx context.Context, c *pgxpool.Conn) error {
		stamps = make([]uint64, len(list))
		b := s.db.byIndex()
		place := func(rows pgx.Rows) error {
			for rows.Next() {
				var nr, stamp int64
				if err := rows.Scan(&nr, &stamp); err != nil {
					return err
				}
				stamps[nr] = uint64(stamp)
			}
			return rows.Err()
		}
		if len(keys) > 0 {
			b.Queue(s.db.names.sql(sqlStamps), uuids(keys), at).Query(place)
		}
		if len(names) > 0 {
			b.Queue(s.db.names.sql(sqlValueStamps), uuids(valueKeys), names, valueAt).Query(place)
		}
		return s.db.exchange(ctx, c.Conn(), b)
	})
	return stamps, err
}
