package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"         //nolint:depguard // the cost of a server is measured below the contract
	"github.com/jackc/pgx/v5/pgxpool" //nolint:depguard // the same

	"github.com/perdure/perdure/bench/measure"
	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
)

// benchServer creates schemas in a Postgres database.
type benchServer struct {
	server  dbname.Server
	keep    bool
	conn    *pgx.Conn
	process int           // of the server, on this machine; 0 if unknown
	created dbname.Server // zero: none
}

func newBenchServer(ctx context.Context, s dbname.Server, o benchOptions) (*benchServer, error) {
	if o.synchronous != synchronousFull {
		return nil, badUsage("flag --synchronous is for a SQLite file")
	}
	if s.Schema != "" && !o.keep {
		return nil, badUsage("the URL names a schema, but each run creates its own: leave it out, or give --keep to run on it")
	}
	config, err := pgxpool.ParseConfig(s.URL) // accepts pool parameters, too
	if err != nil {
		return nil, badUsage("the URL of the database is invalid")
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return nil, &storeError{fmt.Errorf("open %s: %w", s, err)}
	}
	b := &benchServer{server: s, keep: o.keep, conn: conn}
	b.process = serverProcess(conn)
	return b, nil
}

// serverProcess returns the process ID of the server, or 0 if it is not on this machine. The title of the backend
// process names this end of the connection.
func serverProcess(conn *pgx.Conn) int {
	end := "[local]"
	if address, ok := conn.PgConn().Conn().LocalAddr().(*net.TCPAddr); ok {
		end = "(" + strconv.Itoa(address.Port) + ")"
	}
	pid, ok := measure.Server(int(conn.PgConn().PID()), "postgres", end)
	if !ok {
		return 0
	}
	return pid
}

const sqlBenchSettings = `SELECT name, setting FROM pg_settings
	WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', 'shared_buffers', 'max_wal_size', 'server_version')
	ORDER BY array_position(ARRAY['server_version', 'fsync', 'synchronous_commit', 'full_page_writes', 'wal_level', 'shared_buffers', 'max_wal_size'], name)`

func (b *benchServer) settings(ctx context.Context) (placeSettings, error) {
	s := placeSettings{store: "postgres"}
	rows, err := b.conn.Query(ctx, sqlBenchSettings)
	if err != nil {
		return s, b.failed("reading settings", err)
	}
	var name, value string
	_, err = pgx.ForEachRow(rows, []any{&name, &value}, func() error {
		switch name {
		case "server_version":
			s.version = value
		case "fsync", "synchronous_commit":
			s.add(name, value, value != "off")
		default:
			s.add(name, value, true)
		}
		return nil
	})
	return s, b.failed("reading settings", err)
}

func (b *benchServer) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return &storeError{fmt.Errorf("%s of %s: %w", what, b.server, err)}
}

func (b *benchServer) begin(context.Context) (db string, err error) {
	if b.keep {
		return b.server.Given, nil
	}
	b.created, err = b.server.InSchema("perdure_bench_" + strings.ReplaceAll(uuid.NewString(), "-", ""))
	return b.created.Given, err
}

func (b *benchServer) open(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	s := b.created
	if b.keep {
		s = b.server
	}
	store, err := postgres.OpenWith(ctx, s.URL, postgres.Options{Schema: s.Schema, Logger: logger})
	switch {
	case errors.Is(err, provider.ErrInvalid):
		return nil, &usageError{err}
	case err != nil:
		return nil, &storeError{err}
	}
	return store, nil
}

const sqlBenchReading = `SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,
	(SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())`

func (b *benchServer) read(ctx context.Context) (r placeReading, err error) {
	var written, transactions int64
	if err := b.conn.QueryRow(ctx, sqlBenchReading).Scan(&written, &transactions); err != nil {
		return r, b.failed("reading counters", err)
	}
	r.written, r.transactions = &written, &transactions
	if b.process > 0 {
		if cpu, ok := measure.Family(b.process); ok {
			r.cpu = &cpu
		}
	}
	return r, nil
}

func (b *benchServer) end(ctx context.Context) error {
	if b.created.Schema == "" {
		return nil
	}
	_, err := b.conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{b.created.Schema}.Sanitize()+" CASCADE")
	b.created = dbname.Server{}
	return b.failed("dropping the schema", err)
}

func (b *benchServer) close(ctx context.Context) error {
	return errors.Join(b.end(ctx), b.failed("closing", b.conn.Close(ctx)))
}
