package postgres

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider/internal/relational"
)

const (
	sqlKinds     = `SELECT id, name, code_version, engine_level FROM perdure.kind`
	sqlTaskKinds = `SELECT id, queue, name, priority FROM perdure.task_kind`
	sqlNewKind   = `INSERT INTO perdure.kind (name, code_version, engine_level) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
	sqlNewTask   = `INSERT INTO perdure.task_kind (queue, name, priority) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`
)

// kinds are the kinds that this process knows. A returned set is never changed, so that its readers need no lock.
type kinds struct {
	db      *database
	current atomic.Pointer[relational.Kinds]
	// database is the identity of the database that they were read from; see sqlDatabase.
	database atomic.Pointer[string]
	// loading is locked only by a caller that already has its connection. Otherwise it could wait for callers that hold
	// all connections and wait for the lock.
	loading sync.Mutex
	loaded  time.Time   // guarded by loading
	stale   atomic.Bool // another process named an unknown kind, or the server may be another one
}

func (k *kinds) get() *relational.Kinds { return k.current.Load() }

// note records that a signal named unknown kinds.
func (k *kinds) note(s *signal) {
	known := k.get()
	for _, id := range s.Turns {
		if _, ok := known.ByTurn[id]; !ok {
			k.stale.Store(true)
		}
	}
	for _, id := range slices.Concat(s.Tasks, s.Freed) {
		if _, ok := known.ByTask[id]; !ok {
			k.stale.Store(true)
		}
	}
}

// from reports whether the kinds were read from the database that other identifies.
func (k *kinds) from(other *string) bool {
	own := k.database.Load()
	return own != nil && other != nil && *own == *other
}

// load reads all kinds on a connection of a pool. It first stores the kinds that need names, in a transaction of its
// own, so that they stay even if the call that needed them fails.
func (k *kinds) load(ctx context.Context, pool *pgxpool.Pool, need *needError) error {
	ctx, cancel := k.db.bounded(ctx)
	defer cancel()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return k.loadOn(ctx, conn, need)
}

// loadOn is load on a connection that the caller has.
func (k *kinds) loadOn(ctx context.Context, conn querying, need *needError) error {
	k.loading.Lock()
	defer k.loading.Unlock()
	if err := k.read(ctx, conn, k.create(need)); err != nil {
		return err
	}
	return k.all(need)
}

// read sends the batch and reads all kinds, with the identity of their database. The caller has locked loading.
func (k *kinds) read(ctx context.Context, q querying, b *pgx.Batch) error {
	k.stale.Store(false)
	ctx, cancel := k.db.bounded(ctx)
	defer cancel()
	fresh := relational.NewKinds()
	var database *string
	b.Queue(k.db.names.sql(sqlKinds)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var id int64
			var kind relational.TurnKind
			if err := rows.Scan(&id, &kind.Name, &kind.CodeVersion, &kind.Level); err != nil {
				return err
			}
			fresh.AddTurn(id, kind)
		}
		return rows.Err()
	})
	b.Queue(k.db.names.sql(sqlTaskKinds)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var id, priority int64
			var queue, name string
			if err := rows.Scan(&id, &queue, &name, &priority); err != nil {
				return err
			}
			fresh.AddTask(id, relational.StoredTaskKind(queue, name, priority))
		}
		return rows.Err()
	})
	b.Queue(sqlDatabase, k.db.names.sql(anyTable)).QueryRow(func(r pgx.Row) error { return r.Scan(&database) })
	if err := q.SendBatch(ctx, b).Close(); err != nil {
		k.stale.Store(true)
		return err
	}
	k.loaded = time.Now()
	k.database.Store(database)
	k.current.Store(fresh)
	return nil
}

// all returns an error unless the numbers that a call asked for are known now.
func (k *kinds) all(need *needError) error {
	if need == nil {
		return nil
	}
	known := k.get()
	for _, id := range need.numbers {
		_, turn := known.ByTurn[id]
		if _, task := known.ByTask[id]; !turn && !task {
			return relational.NoKind(id)
		}
	}
	return nil
}

// observe compares the highest numbers of kinds that a fetch read with those that are known. Another process may have stored
// newer ones, and its notification may be late or lost. A number below the highest one may still come.
func (k *kinds) observe(turn, task int64) {
	if known := k.get(); turn > known.NewestTurn || task > known.NewestTask {
		k.stale.Store(true)
	}
}

// refresh reads the kinds if another process named an unknown one.
func (k *kinds) refresh(ctx context.Context, pool *pgxpool.Pool) error {
	if !k.stale.Load() {
		return nil
	}
	return k.load(ctx, pool, nil)
}

// acquire returns a connection of a pool on which a group can be judged. A new connection may lead to another server
// behind the same name, such as a copy or a backup. That may have lost kinds and given their numbers again. So the
// kinds are read on that very connection. Renewals need no kinds.
func (k *kinds) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	conn, err := pool.Acquire(ctx)
	if err != nil || pool != k.db.pool || !k.stale.Load() {
		return conn, err
	}
	if err := k.loadOn(ctx, conn, nil); err != nil {
		conn.Release()
		return nil, err
	}
	return conn, nil
}

// suspect makes the next fetch read the kinds if they were read long ago, because notifications may be lost. Fetches
// that found nothing call it, so that a claim costs one round trip.
func (k *kinds) suspect() {
	k.loading.Lock()
	defer k.loading.Unlock()
	if time.Since(k.loaded) > fallback/2 {
		k.stale.Store(true)
	}
}

// create begins a batch that stores the needed kinds.
func (k *kinds) create(need *needError) *pgx.Batch {
	b := &pgx.Batch{}
	if need == nil {
		return b
	}
	slices.SortFunc(need.turns, func(a, b relational.TurnKind) int { // so that two processes wait for each other in one direction only
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.CodeVersion, b.CodeVersion), cmp.Compare(a.Level, b.Level))
	})
	slices.SortFunc(need.tasks, func(a, b relational.TaskKind) int {
		return cmp.Or(cmp.Compare(a.Queue, b.Queue), cmp.Compare(a.Name, b.Name), cmp.Compare(a.StoredPriority(), b.StoredPriority()))
	})
	for _, kind := range need.turns {
		b.Queue(k.db.names.sql(sqlNewKind), kind.Name, kind.CodeVersion, kind.Level)
	}
	for _, kind := range need.tasks {
		b.Queue(k.db.names.sql(sqlNewTask), kind.Queue, kind.Name, kind.StoredPriority())
	}
	return b
}

// learn adds the needs that a call turned out to have. A new kind is stored by a statement of its own, on a connection
// of pool.
func (k *kinds) learn(ctx context.Context, pool *pgxpool.Pool, m *relational.Member, need *needError) error {
	m.Needs.Add(&need.needs)
	if !need.kind() {
		return nil
	}
	return k.load(ctx, pool, need)
}
