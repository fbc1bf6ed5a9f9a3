package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5" //nolint:depguard // the cost of two bare commits is measured below the contract

	"github.com/perdure/perdure/internal/testkit/workload"
)

// pairLimit is the highest ratio of W3's p50 to the p50 of a bare pair of commits.
const pairLimit = 1.6

// barePair makes two commits of one row each in sequence on one connection. An orchestration of one activity cannot
// cost less on the same disk or server.
type barePair struct {
	mu     sync.Mutex // guards the connection
	commit func(ctx context.Context) error
	close  func(ctx context.Context) error
	took   []time.Duration
}

// measure makes n pairs at the given rate, which is that of W3's starts.
func (p *barePair) measure(ctx context.Context, n int, rate float64) error {
	took, err := workload.AtMoments(ctx, n, rate, func(ctx context.Context) error {
		p.mu.Lock()
		defer p.mu.Unlock()
		return errors.Join(p.commit(ctx), p.commit(ctx))
	})
	p.took = append(p.took, took...)
	return err
}

// fill adds the figures of the pair to a run of W3.
func (p *barePair) fill(r *benchRun) {
	of := workload.Result{Latencies: p.took}
	r.figure("bare pair of commits p50 ms", milliseconds(of.Percentile(50)))
	r.figure("bare pair of commits p99 ms", milliseconds(of.Percentile(99)))
	if p50 := milliseconds(of.Percentile(50)); r.Latency != nil && p50 > 0 {
		r.figure(fmt.Sprintf("p50 by that of the bare pair (at most %g)", pairLimit), r.Latency.P50/p50)
	}
}

// pairRoom is the size in bytes to which the file's log grows before the measurement, as a store's log has grown.
const pairRoom = 4 << 20

// pair opens a separate file next to the store's, with the same durability.
func (f *benchFile) pair(ctx context.Context) (*barePair, error) {
	dir, err := os.MkdirTemp(filepath.Dir(f.path), "perdure-pair-")
	if err != nil {
		return nil, fmt.Errorf("making a directory for a bare file: %w", err)
	}
	query := url.Values{"_pragma": {"journal_mode(wal)", "synchronous(" + f.level + ")"}}
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(filepath.Join(dir, "pair.db"))+"?"+query.Encode())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a bare file: %w", err), os.RemoveAll(dir))
	}
	db.SetMaxOpenConns(1)
	p := &barePair{close: func(context.Context) error { return errors.Join(db.Close(), os.RemoveAll(dir)) }}
	for _, statement := range []string{
		"CREATE TABLE pair (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)", "CREATE TABLE room (room BLOB NOT NULL)",
		fmt.Sprintf("INSERT INTO room VALUES (zeroblob(%d))", pairRoom), "PRAGMA wal_checkpoint(RESTART)",
	} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return nil, errors.Join(fmt.Errorf("preparing a bare file: %w", err), p.close(ctx))
		}
	}
	insert, err := db.PrepareContext(ctx, "INSERT INTO pair (n) VALUES (1)") //nolint:sqlclosecheck // it ends with db
	if err != nil {
		return nil, errors.Join(fmt.Errorf("preparing a bare file: %w", err), p.close(ctx))
	}
	p.commit = func(ctx context.Context) error {
		if _, err := insert.ExecContext(ctx); err != nil {
			return fmt.Errorf("committing to a bare file: %w", err)
		}
		return nil
	}
	return p, nil
}

// pair creates a separate schema on the server.
func (b *benchServer) pair(ctx context.Context) (*barePair, error) {
	conn, err := pgx.Connect(ctx, b.server.URL)
	if err != nil {
		return nil, b.failed("opening a bare connection", err)
	}
	schema := pgx.Identifier{"perdure_pair_" + strings.ReplaceAll(uuid.NewString(), "-", "")}.Sanitize()
	p := &barePair{close: func(ctx context.Context) error {
		_, err := conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+schema+" CASCADE")
		return b.failed("closing a bare connection", errors.Join(err, conn.Close(ctx)))
	}}
	for _, statement := range []string{
		"CREATE SCHEMA " + schema, "CREATE TABLE " + schema + ".pair (id bigint PRIMARY KEY, n bigint NOT NULL)",
		"INSERT INTO " + schema + ".pair VALUES (1, 0)",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return nil, errors.Join(b.failed("making a table", err), p.close(context.WithoutCancel(ctx)))
		}
	}
	update := "UPDATE " + schema + ".pair SET n = n + 1 WHERE id = $1"
	p.commit = func(ctx context.Context) error {
		_, err := conn.Exec(ctx, update, 1)
		return b.failed("committing on a bare connection", err)
	}
	return p, nil
}
