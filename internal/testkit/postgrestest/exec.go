package postgrestest

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Exec runs statements at the server that url names, unseen by the store that uses it.
func Exec(t testing.TB, url string, statements ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 10*time.Minute) // some fill large tables
	defer cancel()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if _, failed := conn.Exec(ctx, statement); failed != nil {
			err = errors.Join(err, failed)
		}
	}
	if err := errors.Join(err, conn.Close(ctx)); err != nil {
		t.Fatal(err)
	}
}

// VacuumFull rewrites all tables of a schema, one after the other. Each is locked meanwhile.
func VacuumFull(t testing.TB, url, schema string) {
	t.Helper()
	Exec(t, url, "VACUUM FULL "+text(t, url, "SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') FROM pg_tables WHERE schemaname = '"+schema+"'"))
}

// Process returns the process ID that the server which url names has on its machine. All its other processes are children of that.
func Process(t testing.TB, url string) int {
	t.Helper()
	id, err := strconv.Atoi(text(t, url, `SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1)`))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// text returns what a query returns.
func text(t testing.TB, url, query string) (s string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context()) //nolint:errcheck // it has served
	if err := conn.QueryRow(t.Context(), query).Scan(&s); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return s
}
