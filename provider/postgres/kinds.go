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

// loadKinds reads all kinds, of which others may have added some.
func (p *Provider) loadKinds(ctx context.Context) error {
	p.kinds.loading.Lock()
	defer p.kinds.loading.Unlock()
	return p.readKinds(ctx, p.pool, &pgx.Batch{})
}

// readKinds does so after what the batch holds. Its caller has locked loading.
func (p *Provider) readKinds(ctx context.Context, q querying, b *pgx.Batch) error {
	p.kinds.stale.Store(false)
	ctx, cancel := p.bounded(ctx)
	defer cancel()
	fresh := relational.NewKinds()
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
	if err := q.SendBatch(ctx, b).Close(); err != nil {
		p.kinds.stale.Store(true)
		return err
	}
	p.kinds.loaded = time.Now()
	p.kinds.current.Store(fresh)
	return nil
}

// refreshKinds reads the kinds if another process spoke of one that is not known here.
func (p *Provider) refreshKinds(ctx context.Context) error {
	if !p.kinds.stale.Load() {
		return nil
	}
	return p.loadKinds(ctx)
}

// acquire answers a connection of a pool on which a group can be judged. One that has been made anew may lead to another server behind the same
// name, a copy or a backup, which has lost kinds and given their numbers again: what is judged on it must go by its kinds. Renewals need none.
func (p *Provider) acquire(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Conn, error) {
	for range maxTries {
		conn, err := pool.Acquire(ctx)
		if err != nil || pool != p.pool || !p.kinds.stale.Load() {
			return conn, err
		}
		conn.Release() // who loads kinds may wait for it
		if err := p.loadKinds(ctx); err != nil {
			return nil, err
		}
	}
	return pool.Acquire(ctx)
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

// addKind stores kinds by a transaction of its own, so that they stay whatever becomes of
// the call that wanted them.
func (p *Provider) addKind(ctx context.Context, need *needError) error {
	p.kinds.loading.Lock()
	defer p.kinds.loading.Unlock()
	return p.readKinds(ctx, p.pool, p.newKinds(need))
}

// addKindOn does so on a connection that the caller has. It answers false if it cannot: whoever loads kinds may wait for that connection.
func (p *Provider) addKindOn(ctx context.Context, conn querying, need *needError) bool {
	if need == nil || !p.kinds.loading.TryLock() {
		return false
	}
	defer p.kinds.loading.Unlock()
	return p.readKinds(ctx, conn, p.newKinds(need)) == nil
}

// newKinds begins a batch that stores kinds.
func (p *Provider) newKinds(need *needError) *pgx.Batch {
	b := &pgx.Batch{}
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
