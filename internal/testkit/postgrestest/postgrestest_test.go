package postgrestest_test

import (
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

func TestMain(m *testing.M) { leaktest.Main(m, postgrestest.Stop) }

func query(t *testing.T, url, sql string) (answer int) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := conn.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	if err := conn.QueryRow(t.Context(), sql).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestSharedServer(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	if got := query(t, url, "SELECT 42"); got != 42 {
		t.Errorf("got %d", got)
	}
	if a, b := postgrestest.Schema(t, url), postgrestest.Schema(t, url); a == b {
		t.Errorf("schema %s twice", a)
	}
}

func TestOwnClusterSurvivesKill(t *testing.T) {
	longtest.Skip(t)
	c := postgrestest.New(t, "fsync=on")
	query(t, c.URL(), "WITH made AS (SELECT 1) SELECT count(*) FROM made")
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGQUIT, syscall.SIGINT} {
		c.Stop(t, signal)
		c.Start(t)
		if got := query(t, c.URL(), "SELECT 1"); got != 1 {
			t.Errorf("after %v: got %d", signal, got)
		}
	}
}
