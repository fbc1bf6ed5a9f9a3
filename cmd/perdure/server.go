package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
)

// schemaParameter names the schema in a URL, so that one string names the store. Postgres has no such parameter.
const schemaParameter = "schema"

// The parameter and the variable that select one of several servers.
const (
	sessionParameter = "target_session_attrs"
	sessionVariable  = "PGTARGETSESSIONATTRS"
)

// server is a schema of a Postgres database.
type server struct {
	given  string
	url    string // for the driver
	schema string // "" means the default one
}

func newServer(given string) (server, error) {
	address, query, _ := strings.Cut(given, "?")
	parameters, err := parseParameters(query)
	schemas := parameters[schemaParameter]
	switch {
	case err != nil:
		return server{}, badUsage("the URL of the database is invalid: write special characters after the question mark as %%XX")
	case len(schemas) == 0:
		return server{given: given, url: given}, nil
	case len(schemas) > 1 || schemas[0] == "":
		return server{}, badUsage("the URL of the database must name one schema: schema=NAME")
	}
	parameters.Del(schemaParameter)
	return server{given: given, url: address + "?" + encodeParameters(parameters), schema: schemas[0]}, nil
}

// parseParameters parses the query of a Postgres URL, in which + is a plus sign and %20 a space.
func parseParameters(query string) (url.Values, error) {
	return url.ParseQuery(strings.ReplaceAll(query, "+", "%2B"))
}

func encodeParameters(parameters url.Values) string {
	return strings.ReplaceAll(parameters.Encode(), "+", "%20")
}

func (s server) name() string { return s.given }

// String returns the URL without passwords.
func (s server) String() string {
	u, err := url.Parse(s.given)
	if err != nil {
		return "postgres://..."
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	parameters := u.Query()
	for key := range parameters {
		if strings.Contains(key, "password") {
			parameters.Del(key)
		}
	}
	u.RawQuery = parameters.Encode()
	return u.String()
}

func (s server) ledger() string { return "" }

func (s server) open(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	return s.connect(ctx, s.url, postgres.Options{NoMigrate: true, Logger: logger})
}

func (s server) create(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	return s.connect(ctx, s.url, postgres.Options{Logger: logger})
}

// read is the same as open, since some poolers refuse the session parameter of view.
func (s server) read(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	return s.open(ctx, logger)
}

func (s server) view(ctx context.Context, logger *slog.Logger) (provider.Provider, error) {
	address, query, _ := strings.Cut(s.url, "?")
	parameters, err := parseParameters(query)
	if err != nil {
		return nil, badUsage("the URL of the database is invalid") // unreachable: newServer has parsed it
	}
	parameters.Set("default_transaction_read_only", "on")
	// A read-only session never counts as read-write, so ask for the primary, which is the server that takes writes.
	if cmp.Or(parameters.Get(sessionParameter), os.Getenv(sessionVariable)) == "read-write" {
		parameters.Set(sessionParameter, "primary")
	}
	return s.connect(ctx, address+"?"+encodeParameters(parameters), postgres.Options{NoMigrate: true, Logger: logger})
}

func (s server) connect(ctx context.Context, url string, o postgres.Options) (provider.Provider, error) {
	o.Schema = s.schema
	store, err := postgres.OpenWith(ctx, url, o)
	if err != nil {
		return nil, serverError(err)
	}
	return store, nil
}

// serverError returns a usage error for invalid input, and a store error otherwise.
func serverError(err error) error {
	if errors.Is(err, provider.ErrInvalid) {
		return &usageError{err}
	}
	return &storeError{err}
}

func (s server) migrations(ctx context.Context) ([]provider.Migration, error) {
	steps, err := postgres.Migrations(ctx, s.url, postgres.Options{Schema: s.schema})
	if err != nil {
		return nil, serverError(err)
	}
	return steps, nil
}

func (s server) script(ctx context.Context) ([]provider.Migration, error) {
	steps, err := postgres.Migrations(ctx, "", postgres.Options{Schema: s.schema})
	if err != nil {
		return nil, serverError(err)
	}
	return steps, nil
}

func (s server) grants(role string) ([]string, error) { return postgres.Grants(s.schema, role), nil }

func (s server) salvage() string {
	return "if the server works, run doctor again; if it reports damage, restore a backup"
}
