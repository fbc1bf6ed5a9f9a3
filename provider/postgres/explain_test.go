package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

// Whatever is wrong with a URL, the error does not show the password in it.
func TestErrorsOfOpenShowNoPassword(t *testing.T) {
	longtest.Skip(t)
	for url, says := range map[string]string{
		"postgres://u:s3cret%zz@127.0.0.1/x":                       "%XX",
		"postgres://u:s3cret/word@127.0.0.1/x":                     "%XX",
		"postgres://u:1/s3cret@127.0.0.1/x?sslmode=nonsense":       "",
		"postgres://u:1#s3cret@127.0.0.1/x?sslmode=nonsense":       "",
		"postgres://u:s3cret@127.0.0.1:port/x":                     "%XX",
		"postgres://u@127.0.0.1/x?password=s3cret%zz":              "%XX",
		"postgres://u@127.0.0.1/x?password=s3cret&sslmode=none":    "sslmode",
		"postgres://u:s3cret@127.0.0.1/x?pool_max_conns=many":      "pool_max_conns",
		"postgres://u:s3cret@127.0.0.1:1,127.0.0.1:1/x":            "refused",
		"postgres://u:s3cret@127.0.0.1:1/x?sslmode=disable":        "refused",
		"host=127.0.0.1 port=none user=u password=s3cret dbname=x": "%XX",
	} {
		_, opened := OpenWith(t.Context(), url, Options{Logger: silent})
		_, listed := Migrations(t.Context(), url, Options{})
		_, listening := (&database{opts: Options{ListenURL: url}}).listenConfig(t.Context())
		for _, err := range []error{opened, listed} {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: %v, want a word on %q", url, err, says)
			}
		}
		for _, err := range []error{opened, listed, listening} {
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v", url, err)
			}
		}
	}
}

func TestMigrationsWithoutOpening(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	o := Options{Schema: postgrestest.Schema(t, url), Logger: silent}
	url += "&pool_max_conns=4"
	applied := func(url string) (n int) {
		t.Helper()
		list, err := Migrations(t.Context(), url, o)
		if err != nil || len(list) == 0 {
			t.Fatalf("%d migrations, %v", len(list), err)
		}
		for _, step := range list {
			if !strings.Contains(step.SQL, `"`+o.Schema+`".`) {
				t.Errorf("migration %d is for another schema", step.Version)
			}
			if step.Applied {
				n++
			}
		}
		return n
	}
	if n := applied(url); n != 0 {
		t.Errorf("%d migrations are applied in an empty schema", n)
	}
	opened(t, url, o)
	if n, none := applied(url), applied(""); n != knownMigrations(t) || none != 0 {
		t.Errorf("%d migrations are applied, and %d where there is no database", n, none)
	}
	if _, err := Migrations(t.Context(), url, Options{Schema: "pg_mine"}); !errors.Is(err, provider.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
