package postgres

import (
	"context"
	"hash/maphash"
	"sync"

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

// sqlStampSums returns one row for all instances: how many rows each table has of them, and a sum that grows with each new version of one.
const sqlStampSums = `SELECT concat_ws(' ', (SELECT count(*) || ' ' || sum(xmin::text::bigint) FROM perdure.instance WHERE key = ANY($1)),
	(SELECT count(*) || ' ' || sum(xmin::text::bigint) FROM perdure.outcome WHERE key = ANY($1)),
	(SELECT count(*) || ' ' || sum(xmin::text::bigint) FROM perdure.task WHERE key = ANY($1)),
	(SELECT count(*) || ' ' || sum(xmin::text::bigint) FROM perdure.dead_letter WHERE key = ANY($1)))`

//nolint:gochecknoglobals // constant; lists are compared within the process
var stampSeed = maphash.MakeSeed()

// stampSums is what the last stamps were read for. While the sums of the same instances stay, nothing has changed, and the stamps, which cost the
// server three times as much, are not read.
type stampSums struct {
	mu   sync.Mutex
	of   uint64 // a hash of the list, in any order
	sums string // read before the stamps were; "": they were not read
}

// hold reports whether the stamps of a list were read after sums.
func (l *stampSums) hold(list []relational.Followed, sums string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sums == sums && l.of == hashOf(list)
}

// read keeps what hold compares with.
func (l *stampSums) read(list []relational.Followed, sums string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.of, l.sums = hashOf(list), sums
}

func hashOf(list []relational.Followed) (sum uint64) {
	for _, what := range list {
		sum += maphash.Comparable(stampSeed, what)
	}
	return sum
}

// Stamps implements [relational.Storage], in one round trip if nothing has changed, and in two if something has. Key-values have no sums.
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
		sums := ""
		if len(names) == 0 {
			b := s.db.byIndex()
			b.Queue(s.db.names.sql(sqlStampSums), uuids(keys)).QueryRow(func(r pgx.Row) error { return r.Scan(&sums) })
			if err := s.db.exchange(ctx, c.Conn(), b); err != nil || s.sums.hold(list, sums) {
				return err
			}
		}
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
		if err := s.db.exchange(ctx, c.Conn(), b); err != nil {
			return err
		}
		s.sums.read(list, sums)
		return nil
	})
	return stamps, err
}
