package postgres

import (
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/perdure/perdure/provider"
)

// Options tune a store. The zero value is a good default.
type Options struct {
	// Schema holds the tables; "" means "perdure".
	Schema string
	// NoMigrate leaves the schema unchanged: Open fails if it is missing or older. It is for a role that may not create
	// tables; see [Grants].
	NoMigrate bool
	// Pooler declares that the connections go through a pooler in transaction mode.
	Pooler bool
	// ListenURL is where notifications are received and sent; "" means the pool's own server.
	ListenURL string
	// Timeout bounds each database call; 0 means 10 s. A call gets at least seven eighths of it.
	Timeout time.Duration
	// Logger receives faults that no caller learns of; nil means slog.Default.
	Logger *slog.Logger

	unprimed bool          // for tests: connections are made and prepared when they are needed
	gather   time.Duration // for tests: how long notifications are gathered after one was sent; 0: as long as peers demand
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

// checkSchemaName refuses names that Postgres would cut or refuse.
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
