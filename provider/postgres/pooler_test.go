package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// Behind PgBouncer in transaction mode each transaction may run on another server connection.
func TestPgBouncer(t *testing.T) {
	longtest.Skip(t)
	cluster := postgrestest.New(t)
	url := cluster.Pooler(t)
	o := Options{Pooler: true, ListenURL: cluster.URL()}
	client, worker := opened(t, url, o), opened(t, url, o)
	for range 10 {
		everyCall(t, client)
	}
	listening(t, worker)
	inSomeRound(t, func() error {
		fetched, began := fetchLater(t, worker), time.Now()
		create(t, client, unique().String())
		<-fetched
		if took := time.Since(began); took > fallback/2 {
			return fmt.Errorf("the notification took %v", took)
		}
		return nil
	})
	startIn(t, client)
	checkConsistent(t, client)
	checkNoSession(t, client)
}

// With Pooler nothing is left on a server connection: no prepared statement, no setting. Without a PgBouncer this is
// all that can be shown.
func TestNoStateIsLeftOnConnections(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	schema := postgrestest.Schema(t, url)
	p := opened(t, url, Options{Schema: schema, Pooler: true, ListenURL: url})
	everyCall(t, p)
	checkNoSession(t, p)
}

func checkNoSession(t *testing.T, p *Provider) {
	t.Helper()
	for what, sql := range map[string]string{
		"prepared statements": `SELECT count(*) FROM pg_prepared_statements WHERE name <> ''`,
		"advisory locks":      `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()`,
		"channels":            `SELECT count(*) FROM pg_listening_channels()`,
		"cursors":             `SELECT count(*) FROM pg_cursors WHERE name <> ''`,
		"settings":            `SELECT count(*) FROM pg_settings WHERE name IN ('lock_timeout', 'idle_in_transaction_session_timeout') AND setting <> reset_val`,
	} {
		for range 8 { // any connection may serve it
			if n := number(t, p, sql); n != 0 {
				t.Errorf("%d %s are left", n, what)
				break
			}
		}
	}
}
