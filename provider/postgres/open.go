package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/perdure/perdure/provider"
)

// Open connects to the database that url names and opens the store in it, with the default options. It creates missing
// tables.
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
	if !o.Pooler && !o.unprimed {
		connector.opened(ctx, &primer{db: p.db, kinds: p.kinds, clock: &p.cache.clock})
	}
	return p, nil
}

// New opens the store through a pool of the program, with the default options. Close leaves the pool open.
//
// A pool needs at least four connections in addition to those that the program itself holds. New logs a warning for a
// smaller one. Up to five connections outside of it carry notifications, renew leases and serve [InTx].
//
// The exec modes of pgx that do not ask the server for types, Exec and SimpleProtocol, are refused.
func New(ctx context.Context, pool *pgxpool.Pool) (*Provider, error) {
	return NewWith(ctx, pool, Options{})
}

// NewWith is New with options.
func NewWith(ctx context.Context, pool *pgxpool.Pool, o Options) (*Provider, error) {
	return newWith(ctx, pool, nil, o)
}

// newWith opens the store through a pool, which the store owns if it has a connector.
func newWith(ctx context.Context, pool *pgxpool.Pool, connector *connector, o Options) (*Provider, error) {
	db, err := newDatabase(ctx, pool, connector != nil, o.withDefaults())
	if err != nil {
		return nil, err
	}
	kinds := &kinds{db: db}
	if err := prepare(ctx, db, kinds); err != nil {
		db.harden()
		return nil, notOpened(pool.Config().ConnConfig, err)
	}
	if err := db.open(ctx, connector); err != nil {
		return nil, err
	}
	return start(db, kinds), nil //nolint:contextcheck // what it starts lives as long as the provider
}

// sqlVisibility returns whether the server is a standby, and a table of which policies hide rows from this role, if any.
const sqlVisibility = `SELECT pg_is_in_recovery(), (SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
	WHERE n.nspname = $1 AND c.relkind = 'r' AND row_security_active(c.oid) ORDER BY 1 LIMIT 1)`

// checkVisibility refuses a store whose rows a policy may hide: such a store would look empty and healthy. A policy that is
// switched on later is an error of each statement: the sessions of the store have row_security off, and on connections that
// others use, too, each transaction of the store has. Only this check covers a transaction that the program has begun, whose own
// statements may rely on policies. A standby only gets a warning, as the server itself refuses all writes.
func checkVisibility(ctx context.Context, db *database) error {
	ctx, cancel := db.bounded(ctx)
	defer cancel()
	var standby bool
	var table *string
	if err := db.pool.QueryRow(ctx, sqlVisibility, db.opts.Schema).Scan(&standby, &table); err != nil {
		return failed("check what the server shows", err, provider.OutcomeNothing)
	}
	if table != nil {
		where := pgx.Identifier{db.opts.Schema, *table}.Sanitize()
		return fmt.Errorf("row level security of table %s hides rows from this role, so the store would look empty: ALTER TABLE %s DISABLE ROW LEVEL SECURITY, "+
			"or ALTER ROLE ... BYPASSRLS: %w", where, where, provider.ErrInvalid)
	}
	if standby {
		db.opts.Logger.Warn("perdure postgres: the server is a standby: it lacks what its primary has stored since, and refuses all writes; connect to the primary",
			"schema", db.opts.Schema)
	}
	return nil
}

// prepare checks the options and the schema.
func prepare(ctx context.Context, db *database, kinds *kinds) error {
	if err := checkSchemaName(db.opts.Schema); err != nil {
		return err
	}
	if db.opts.ListenURL != "" {
		if _, err := db.listenConfig(ctx); err != nil {
			return err
		}
	}
	if err := (migrator{db}).prepareSchema(ctx); err != nil {
		return err
	}
	if err := checkVisibility(ctx, db); err != nil {
		return err
	}
	return failed("load kinds", kinds.load(ctx, db.pool, nil), provider.OutcomeNothing)
}
