package postgres

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
)

// Options tune a store. The zero value is right.
type Options struct {
	// Schema holds the tables; "" means "perdure".
	Schema string
	// NoMigrate leaves the schema alone: a missing or older one is an error of Open. It is for a role that may not create tables; see [Grants].
	NoMigrate bool
	// Pooler says that the connections go through a pooler in transaction mode.
	Pooler bool
	// ListenURL is where notifications are received and sent; "" means the pool's own server.
	ListenURL string
	// Timeout bounds each call of the database, which has seven eighths of it at least; 0 means 10 s.
	Timeout time.Duration
	// Logger tells of faults that no caller is told about; nil means slog.Default.
	Logger *slog.Logger
}

const (
	defaultSchema  = "perdure"
	defaultTimeout = 10 * time.Second
)

func (o Options) withDefaults() Options {
	if o.Schema == "" {
		o.Schema = defaultSchema
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// maxIdentifier is how many bytes of a name Postgres keeps.
const maxIdentifier = 63

// checkSchemaName refuses what Postgres would cut or refuse.
func checkSchemaName(name string) error {
	switch {
	case len(name) > maxIdentifier:
		return fmt.Errorf("schema %.20q... has %d bytes: %w: shorten it to %d", name, len(name), provider.ErrInvalid, maxIdentifier)
	case !utf8.ValidString(name):
		return fmt.Errorf("schema %q: %w: it is not UTF-8", name, provider.ErrInvalid)
	case strings.ContainsRune(name, 0):
		return fmt.Errorf("schema %q: %w: it holds a NUL", name, provider.ErrInvalid)
	case strings.HasPrefix(name, "pg_"):
		return fmt.Errorf("schema %q: %w: names that begin with pg_ belong to Postgres", name, provider.ErrInvalid)
	}
	return nil
}

// names puts the schema's name into statements, which are written for the default one.
type names struct {
	prefix string
	mu     sync.RWMutex
	done   map[string]string // by the statement as it is written
	alone  map[string]string // the same, for one row
	steps  map[writes]string // lone steps
}

func newNames(schema string) *names {
	return &names{
		prefix: pgx.Identifier{schema}.Sanitize() + ".",
		done:   make(map[string]string), alone: make(map[string]string), steps: make(map[writes]string),
	}
}

// sql answers a statement for this schema.
func (n *names) sql(statement string) string { return made(n, n.done, statement, n.rowwise) }

// lone answers a statement over arrays for a single row, whose values stand in place of the arrays.
func (n *names) lone(statement string) string { return made(n, n.alone, statement, n.loneRow) }

// fused answers the statement that is a lone step of such writes.
func (n *names) fused(set writes) string { return made(n, n.steps, set, n.loneStep) }

func (n *names) rowwise(statement string) string { return rowwise(n.here(statement)) }
func (n *names) loneRow(statement string) string { return loneRow(n.here(statement)) }
func (n *names) loneStep(set writes) string      { return n.here(set.sql()) }
func (n *names) here(statement string) string {
	return strings.ReplaceAll(statement, defaultSchema+".", n.prefix)
}

// over answers a statement over arrays for so many rows.
func (n *names) over(statement string, rows int) string {
	if rows == 1 {
		return n.lone(statement)
	}
	return n.sql(statement)
}

// made answers a statement as form makes it, once.
func made[Key comparable](n *names, done map[Key]string, key Key, form func(Key) string) string {
	n.mu.RLock()
	s, ok := done[key]
	n.mu.RUnlock()
	if ok {
		return s
	}
	s = form(key)
	n.mu.Lock()
	done[key] = s
	n.mu.Unlock()
	return s
}
