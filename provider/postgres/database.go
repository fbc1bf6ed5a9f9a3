package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/internal/platform/timelimit"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// database is the server as the other parts see it: its connections, and how statements reach it.
type database struct {
	pool         *pgxpool.Pool
	reserve      *pgxpool.Pool // for renewals and other work that must continue while the program holds all connections of pool
	ownPool      bool
	wireProtocol bool // the store speaks the wire protocol itself, and single steps are one statement
	settled      bool // the connections of the pool have the settings of plans
	opts         Options
	names        *names
	door         relational.Door
	hard         context.Context //nolint:containedctx // it ends soon after the closing began, and every call of the database with it
	harden       context.CancelFunc
	calling      *timelimit.Shared // of short calls
}

// newDatabase checks the configuration of a pool without a request to the server.
func newDatabase(ctx context.Context, pool *pgxpool.Pool, own bool, o Options) (*database, error) {
	db := &database{pool: pool, ownPool: own, opts: o, names: newNames(o.Schema), door: relational.NewDoor()}
	config := pool.Config().ConnConfig
	if err := checkExecMode(config.DefaultQueryExecMode); err != nil {
		return nil, err
	}
	warnIfSmall(pool.Config().MaxConns, own, o.Logger)
	db.wireProtocol = !o.Pooler && config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement && config.Tracer == nil
	if config.Tracer != nil && !o.Pooler {
		o.Logger.Info("perdure postgres: the pool has a tracer, so each call goes through it: steps take more round trips and about a third more CPU time")
	}
	db.hard, db.harden = context.WithCancel(context.WithoutCancel(ctx))
	db.calling = timelimit.NewShared(db.hard, o.Timeout) //nolint:contextcheck // its calls belong to no caller
	return db, nil
}

// open makes the reserve pool, once the schema exists. If it fails it ends all calls.
func (db *database) open(ctx context.Context, connector *connector) error {
	pooled := db.ownPool && connector.pooled.Load()
	db.settled = db.ownPool && !db.opts.Pooler && !pooled
	if pooled {
		db.opts.Logger.Warn("perdure postgres: the connections go through a pooler; " + setPooler)
	}
	config := db.pool.Config()
	config.MaxConns, config.MinConns, config.MinIdleConns = maxReserve, 0, 0
	if db.ownPool {
		config.AfterConnect = nil // nobody waits for what it runs
	}
	var err error
	if db.reserve, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		db.harden()
		return fmt.Errorf("open postgres: %w", err)
	}
	return nil
}

// poolGrace is how long close waits for the pools.
const poolGrace = time.Second

// close closes the reserve pool, and the pool if the store owns it. A pool waits up to 15 s for each connection to a silent server. That wait
// continues in the background.
func (db *database) close() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		db.reserve.Close()
		if db.ownPool {
			db.pool.Close()
		}
	}()
	grace := time.NewTimer(poolGrace)
	defer grace.Stop()
	select {
	case <-closed:
	case <-grace.C:
	}
}

// checkExecMode refuses a mode that does not ask the server for the types of parameters. Such connections cannot send
// lists of all types, and groups would fail for ever.
func checkExecMode(mode pgx.QueryExecMode) error {
	if mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol {
		return nil
	}
	return fmt.Errorf("open postgres: connections have the query exec mode %v: %w: leave it out, or behind a pooler set Options.Pooler or %v",
		mode, provider.ErrInvalid, pgx.QueryExecModeCacheDescribe)
}

// warnIfSmall logs that a pool leaves no connection for calls other than commits, or none for the program that shares
// it.
func warnIfSmall(conns int32, own bool, logger *slog.Logger) {
	if conns < primed || !own && conns == primed {
		const text = "perdure postgres: the pool is too small: calls will wait for each other's connections; " +
			"set pool_max_conns to 8 or more, or MaxConns of its configuration"
		logger.Warn(text, "connections", conns, "store_uses", primed)
	}
}

// maxReserve is how many connections there are outside of the pool: two for renewals, and one for callers that hold a
// connection of the pool.
const maxReserve = 3

// read runs fn on a connection of the pool, with a deadline.
func (db *database) read(ctx context.Context, op string, fn func(context.Context, *pgxpool.Conn) error) error {
	return db.readOn(ctx, db.pool, op, fn)
}

func (db *database) readOn(ctx context.Context, pool *pgxpool.Pool, op string, fn func(context.Context, *pgxpool.Conn) error) error {
	if err := db.door.Enter(ctx); err != nil {
		return err
	}
	defer db.door.Leave()
	bounded, cancel := db.bounded(ctx)
	defer cancel()
	err := withConn(bounded, pool, fn)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return failed(op, err, provider.OutcomeNothing)
}

// withConn runs fn on a connection of a pool. It returns the connection even if fn panics.
func withConn(ctx context.Context, pool *pgxpool.Pool, fn func(context.Context, *pgxpool.Conn) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return fn(ctx, conn)
}

// snapshot runs fn in a transaction whose statements all see one state of the store.
func (db *database) snapshot(ctx context.Context, op string, fn func(context.Context, pgx.Tx) error) error {
	return db.snapshotOn(ctx, db.pool, op, fn)
}

func (db *database) snapshotOn(ctx context.Context, pool *pgxpool.Pool, op string, fn func(context.Context, pgx.Tx) error) error {
	return db.readOn(ctx, pool, op, func(ctx context.Context, c *pgxpool.Conn) error {
		options := pgx.TxOptions{BeginQuery: `BEGIN READ ONLY, ISOLATION LEVEL REPEATABLE READ; SET LOCAL row_security = off`}
		return pgx.BeginTxFunc(ctx, c, options, func(tx pgx.Tx) error { return fn(ctx, tx) })
	})
}

// autocommit runs a statement outside of groups.
func (db *database) autocommit(ctx context.Context, op string, fn func(context.Context, *pgxpool.Pool) error) error {
	if err := db.door.Enter(ctx); err != nil {
		return err
	}
	defer db.door.Leave()
	bounded, cancel := db.bounded(ctx)
	defer cancel()
	err := fn(bounded, db.pool)
	return failed(op, err, outcomeOf(err))
}

// listenConfig returns the configuration of the connection for notifications.
func (db *database) listenConfig(ctx context.Context) (*pgx.ConnConfig, error) {
	if db.opts.ListenURL != "" {
		config, err := pgxpool.ParseConfig(db.opts.ListenURL) // which also accepts the parameters of a pool
		if err != nil {
			return nil, fmt.Errorf("ListenURL: %w", badURL(db.opts.ListenURL, err))
		}
		return config.ConnConfig, nil
	}
	config := db.pool.Config()
	if before := config.BeforeConnect; before != nil { // it may return a fresh password
		if err := before(ctx, config.ConnConfig); err != nil {
			return nil, err
		}
	}
	return config.ConnConfig, nil
}

// byIndex begins a batch that is a transaction of its own, on a connection of the pool.
func (db *database) byIndex() *pgx.Batch {
	b := &pgx.Batch{}
	if !db.settled {
		b.Queue(sqlByIndex)
	}
	return b
}

// nextDue reads the clock and when something is due in one statement, in the same round trip as the settings.
func (db *database) nextDue(ctx context.Context, sql string, args ...any) (now provider.Time, next *provider.Time, err error) {
	b := db.byIndex()
	b.Queue(db.names.sql(sql), args...).QueryRow(func(r pgx.Row) error { return r.Scan(&now, &next) })
	return now, next, db.pooled(ctx, b)
}

// bounded gives a database call its deadline.
func (db *database) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, db.opts.Timeout)
	stop := context.AfterFunc(db.hard, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// boundedShort is bounded for a short call, which may get an eighth less time.
func (db *database) boundedShort(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(db.calling.Context(), cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// detached is boundedShort for a call that continues when its caller's context ends.
func (db *database) detached(ctx context.Context) context.Context {
	return detached{db.calling.Context(), context.WithoutCancel(ctx)}
}

// detached is a shared context with the values of a caller's, for whoever reads them on the way to a connection.
type detached struct {
	context.Context //nolint:containedctx // it is one

	values context.Context //nolint:containedctx // without an end
}

// Value implements [context.Context].
func (u detached) Value(key any) any {
	if v := u.values.Value(key); v != nil {
		return v
	}
	return u.Context.Value(key)
}

// querier is a connection, a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// querying is a connection, a transaction or the pool.
type querying interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}
