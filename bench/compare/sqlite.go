package main

import (
	"context"
	"database/sql"
	"fmt"
)

// sqliteName returns a file name for modernc.org/sqlite, the driver of all four systems. With it each connection
// syncs at each commit.
func sqliteName(path string) string {
	return "file:" + path + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=foreign_keys(ON)" +
		"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
}

// openSQLite opens a file for systems that take a handle.
func openSQLite(path string, connections int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", sqliteName(path))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}

// sqliteSettings reads back the settings of a handle's connections. It returns nothing on Postgres, which has no
// such settings.
func sqliteSettings(ctx context.Context, db *sql.DB) (settings []string) {
	for _, name := range []string{"journal_mode", "synchronous"} {
		var value string
		if err := db.QueryRowContext(ctx, "PRAGMA "+name).Scan(&value); err == nil {
			settings = append(settings, fmt.Sprintf("%s=%s", name, value))
		}
	}
	return settings
}
