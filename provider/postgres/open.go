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

// Provider is a handle of a store in Postgres. It implements [provider.Provider],
// [provider.Notifier] and [provider.Migrator]; all methods may be called concurrently.
type Provider struct {
	calls

	pool     *pgxpool.Pool
	spare    *pgxpool.Pool // for what must go on although the program holds all connections of pool
	ownPool  bool
	fuses    bool // connections are spoken to by messages of our own, and lone steps are one statement
	settled  bool // the connections of the pool have the settings of plans
	opts     Options
	names    *names
	hub      *relational.Hub
	kinds    kinds
	writer   *writer
	signals  *signals
	pending  *pending
	janitor  *janitor
	setback  *setback
	presence *presence
	warm     *warm
	door     relational.Door
	relearn  chan struct{} // held by a call that finds out which database the store's is by now
	hooks    chan struct{} // bounds the transactions that callers' functions run in
	hookIdle time.Duration // a test may set it, and the next one
	hookLock time.Duration
	hard     context.Context //nolint:containedctx // it ends soon after the closing began, and every call of the database with it
	harden   context.CancelFunc
	calling  *timelimit.Shared // of calls that are over soon, as a rule
}

type calls = relational.Calls

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Notifier = (*Provider)(nil)
	_ provider.Migrator = (*Provider)(nil)
)

// Open connects to the database that url names and opens the store in it, with the default options. Missing
// tables are made.
func Open(ctx context.Context, url string) (*Provider, error) { return OpenWith(ctx, url, Options{}) }

// OpenWith is Open with options.
func OpenWith(ctx context.Context, url string, o Options) (*Provider, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", badURL(url, err))
	}
	connector := &connector{}
	if o.Pooler {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	} else {
		config.AfterConnect = connector.afterConnect
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	p, err := newWith(ctx, pool, connector, o)
	if err != nil {
		pool.Close()
		return nil, err
	}
	if !o.Pooler {
		connector.opened(ctx, p)
	}
	return p, nil
}

// New opens the store through a pool that the program has, with the default options. Close leaves the pool open.
//
// A pool needs at least four connections beside those that the program itself holds; a smaller one is logged. Up to five connections outside
// of it carry notifications, renew leases and serve [InTx].
//
// The exec modes of pgx that do not ask the server for types, Exec and SimpleProtocol, are refused.
func New(ctx context.Context, pool *pgxpool.Pool) (*Provider, error) {
	return NewWith(ctx, pool, Options{})
}

// NewWith is New with options.
func NewWith(ctx context.Context, pool *pgxpool.Pool, o Options) (*Provider, error) {
	return newWith(ctx, pool, nil, o)
}

// newWith opens the store through a pool, which is the store's own if it has a connector.
func newWith(ctx context.Context, pool *pgxpool.Pool, connector *connector, o Options) (*Provider, error) {
	o, own := o.withDefaults(), connector != nil
	p := &Provider{
		pool: pool, ownPool: own, opts: o, names: newNames(o.Schema), warm: newWarm(), hub: relational.NewHub(), door: relational.NewDoor(),
		hooks: make(chan struct{}, maxHooks), hookIdle: hookIdle, hookLock: hookLock,
		relearn: make(chan struct{}, 1),
	}
	p.Enqueue = p.enqueue
	config := pool.Config().ConnConfig
	if err := checkExecMode(config.DefaultQueryExecMode); err != nil {
		return nil, err
	}
	warnIfSmall(pool.Config().MaxConns, own, o.Logger)
	p.fuses = !o.Pooler && config.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement && config.Tracer == nil
	if config.Tracer != nil && !o.Pooler {
		o.Logger.Info("perdure postgres: the pool has a tracer, so each call goes through it: steps take more round trips and about a third more CPU time")
	}
	p.hard, p.harden = context.WithCancel(context.WithoutCancel(ctx))
	p.calling = timelimit.NewShared(p.hard, o.Timeout) //nolint:contextcheck // its calls belong to no caller
	if err := p.prepare(ctx); err != nil {
		p.harden()
		return nil, notOpened(config, err)
	}
	p.settled = own && !o.Pooler && !connector.pooled.Load()
	if own && connector.pooled.Load() {
		o.Logger.Warn("perdure postgres: the connections go through a pooler; " + setPooler)
	}
	spare := pool.Config()
	spare.MaxConns, spare.MinConns, spare.MinIdleConns = maxSpare, 0, 0
	if own {
		spare.AfterConnect = nil // what it runs is not waited for
	}
	var err error
	if p.spare, err = pgxpool.NewWithConfig(ctx, spare); err != nil {
		p.harden()
		return nil, fmt.Errorf("open postgres: %w", err)
	}
	p.signals = startSignals(p) //nolint:contextcheck // its connections live as long as the provider
	p.pending = startPending(p)
	p.writer = startWriter(p) //nolint:contextcheck // a group belongs to no caller
	p.janitor = startJanitor(p)
	p.setback = startSetback(p)
	p.presence = startPresence(p)
	return p, nil
}

// checkExecMode refuses what does not ask the server for the types of parameters: such connections cannot send lists of all of them, and
// groups would fail for ever.
func checkExecMode(mode pgx.QueryExecMode) error {
	if mode != pgx.QueryExecModeExec && mode != pgx.QueryExecModeSimpleProtocol {
		return nil
	}
	return fmt.Errorf("open postgres: connections have the query exec mode %v: %w: leave it out, or behind a pooler set Options.Pooler or %v",
		mode, provider.ErrInvalid, pgx.QueryExecModeCacheDescribe)
}

// warnIfSmall logs that a pool leaves no connection for calls beside the committers, or none for the program that it is shared with.
func warnIfSmall(conns int32, own bool, logger *slog.Logger) {
	if conns < primed || !own && conns == primed {
		const text = "perdure postgres: the pool is too small: calls will wait for each other's connections; " +
			"set pool_max_conns to 8 or more, or MaxConns of its configuration"
		logger.Warn(text, "connections", conns, "store_uses", primed)
	}
}

// prepare checks the options and the schema.
func (p *Provider) prepare(ctx context.Context) error {
	if err := checkSchemaName(p.opts.Schema); err != nil {
		return err
	}
	if p.opts.ListenURL != "" {
		if _, err := p.listenConfig(ctx); err != nil {
			return err
		}
	}
	if err := p.prepareSchema(ctx); err != nil {
		return err
	}
	return failed("load kinds", p.loadKinds(ctx, p.pool, nil), provider.OutcomeNothing)
}

// Notify implements [provider.Notifier]: it tells of what any process commits.
func (p *Provider) Notify(fn func(provider.Notice)) (stop func()) { return p.hub.Notify(fn) }

// maxSpare is how many connections there are outside of the pool: two for renewals, and one for callers that hold a connection of the pool.
const maxSpare = 3

// closeGrace is how long calls in progress may go on while the provider is closed.
const closeGrace = 3 * time.Second

// Close implements [provider.Provider].
func (p *Provider) Close() error {
	grace := time.AfterFunc(closeGrace, p.harden)
	defer grace.Stop()
	if first := p.door.Close(); !first {
		return nil
	}
	defer p.harden()
	p.setback.stop()
	p.janitor.stop()
	p.writer.stop()
	p.presence.stop()
	p.signals.stop()
	p.pending.stop()
	p.spare.Close()
	if p.ownPool {
		p.pool.Close()
	}
	return nil
}

// read runs fn on a connection of the pool, with a deadline.
func (p *Provider) read(ctx context.Context, op string, fn func(context.Context, *pgxpool.Conn) error) error {
	return p.readOn(ctx, p.pool, op, fn)
}

func (p *Provider) readOn(ctx context.Context, pool *pgxpool.Pool, op string, fn func(context.Context, *pgxpool.Conn) error) error {
	if err := p.door.Enter(ctx); err != nil {
		return err
	}
	defer p.door.Leave()
	bounded, cancel := p.bounded(ctx)
	defer cancel()
	err := withConn(bounded, pool, fn)
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return failed(op, err, provider.OutcomeNothing)
}

// withConn runs fn on a connection of a pool, which has it back though fn panics.
func withConn(ctx context.Context, pool *pgxpool.Pool, fn func(context.Context, *pgxpool.Conn) error) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	return fn(ctx, conn)
}

// snapshot is read with all statements seeing one state of the store.
func (p *Provider) snapshot(ctx context.Context, op string, fn func(context.Context, pgx.Tx) error) error {
	return p.snapshotOn(ctx, p.pool, op, fn)
}

func (p *Provider) snapshotOn(ctx context.Context, pool *pgxpool.Pool, op string, fn func(context.Context, pgx.Tx) error) error {
	return p.readOn(ctx, pool, op, func(ctx context.Context, c *pgxpool.Conn) error {
		options := pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}
		return pgx.BeginTxFunc(ctx, c, options, func(tx pgx.Tx) error { return fn(ctx, tx) })
	})
}
