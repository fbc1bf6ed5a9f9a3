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

// kinds are the kinds that this process knows. What is answered is never changed, so that
// its readers need no lock.
type kinds struct {
	current atomic.Pointer[relational.Kinds]
	// database is the identity of the database that they were read from; see sqlDatabase.
	database atomic.Pointer[string]
	// loading is locked only by a caller that has its connection already. One that still waited for a connection could wait for
	// callers that hold all of them and wait for the lock.
	loading sync.Mutex
	loaded  time.Time   // guarded by loading
	stale   atomic.Bool // another process spoke of one that is not known here, or the server may be another one
}

func (k *kinds) get() *relational.Kinds { return k.current.Load() }

// note sees that a signal speaks of kinds that are not known here.
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

// loadKinds reads all kinds on a connection of a pool. It first stores the kinds that need names, in a transaction of its own, so that
// they stay whatever becomes of the call that wanted them.
func (p *Provider) loadKinds(ctx context.Context, pool *pgxpool.Pool, need *needError) error {
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return p.loadKindsOn(ctx, conn, need)
}

// loadKindsOn is loadKinds on a connection that the caller has.
func (p *Provider) loadKindsOn(ctx context.Context, conn querying, need *needError) error {
	p.kinds.loading.Lock()
	defer p.kinds.loading.Unlock()
	return p.readKinds(ctx, conn, p.newKinds(need))
}

// readKinds sends the batch and reads all kinds, with the identity of their database. The caller has locked loading.
func (p *Provider) readKinds(ctx context.Context, q querying, b *pgx.Batch) error {
	p.kinds.stale.Store(false)
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	fresh := relational.NewKinds()
	var database *string
	b.Queue(p.names.sql(sqlKinds)).Query(func(rows pgx.Rows) error {
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
	b.Queue(p.names.sql(sqlTaskKinds)).Query(func(rows pgx.Rows) error {
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
	b.Queue(sqlDatabase, p.names.sql(anyTable)).QueryRow(func(r pgx.Row) error { return r.Scan(&database) })
	if err := q.SendBatch(ctx, b).Close(); err != nil {
		p.kinds.stale.Store(true)
		return err
	}
	p.kinds.loaded = time.Now()
	p.kinds.database.Store(database)
	p.kinds.current.Store(fresh)
	return nil
}

// refreshKinds reads the kinds if another process spoke of one that is not known here.
func (p *Provider) refreshKinds(ctx context.Context, pool *pgxpool.Pool) error {
	if !p.kinds.stale.Load() {
		return nil
	}
	return p.loadKinds(ctx, pool, nil)
}

// acquire returns a connection of a pool on which a group can be judged. A connection that was made anew may lead to another server behind the
// same name, such as a copy or a backup, which has lost kinds and given their numbers again. So the kinds are read on that very connection.
// Renewals need no kinds.
func (p *Provider) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	conn, err := pool.Acquire(ctx)
	if err != nil || pool != p.pool || !p.kinds.stale.Load() {
		return conn, err
	}
	if err := p.loadKindsOn(ctx, conn, nil); err != nil {
		conn.Release()
		return nil, err
	}
	return conn, nil
}

// suspectKinds makes the next fetch read the kinds if that was long ago: notifications may be lost. It is asked
// by fetches that found nothing, so that a claim costs one round trip.
func (p *Provider) suspectKinds() {
	p.kinds.loading.Lock()
	defer p.kinds.loading.Unlock()
	if time.Since(p.kinds.loaded) > fallback/2 {
		p.kinds.stale.Store(true)
	}
}

// newKinds begins a batch that stores kinds, if any are needed.
func (p *Provider) newKinds(need *needError) *pgx.Batch {
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
	for _, k := range need.turns {
		b.Queue(p.names.sql(sqlNewKind), k.Name, k.CodeVersion, k.Level)
	}
	for _, k := range need.tasks {
		b.Queue(p.names.sql(sqlNewTask), k.Queue, k.Name, k.StoredPriority())
	}
	return b
}
