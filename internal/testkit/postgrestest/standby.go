package postgrestest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Standby makes a standby that gets all that the cluster stores, and starts it. It is removed at the end of the test.
// The cluster does not wait for it before [Cluster.WaitForStandbys].
func (c *Cluster) Standby(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	copied := func(s *Cluster) error {
		return s.initialise("pg_basebackup", "--host", "127.0.0.1", "--port", strconv.Itoa(c.port), "--username", "postgres",
			"--write-recovery-conf", "--wal-method", "stream", "--checkpoint", "fast")
	}
	s, err := newCluster("", copied, settings)
	return s.until(t, err)
}

// URLOf returns a connection string for the one of several clusters that takes writes.
func URLOf(clusters ...*Cluster) string {
	hosts := make([]string, len(clusters))
	for i, c := range clusters {
		hosts[i] = fmt.Sprintf("127.0.0.1:%d", c.port)
	}
	return "postgres://postgres@" + strings.Join(hosts, ",") + "/postgres?sslmode=disable&target_session_attrs=read-write"
}

// Set changes a setting of a running server that the settings of New do not name.
func (c *Cluster) Set(t testing.TB, name, value string) {
	t.Helper()
	Exec(t, c.URL(), "ALTER SYSTEM SET "+name+" = '"+value+"'", "SELECT pg_reload_conf()")
}

// WaitForStandbys makes each commit wait until a standby has it on its disk, and returns when one follows.
func (c *Cluster) WaitForStandbys(t testing.TB) {
	t.Helper()
	c.Set(t, "synchronous_standby_names", "*")
	await(t, "a synchronous standby", c.URL(), "SELECT count(*) > 0 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'")
}

// Detach ends the connection of a standby to its primary. It returns when the standby has what the primary had stored
// before, and gets nothing more.
func (c *Cluster) Detach(t testing.TB, primary *Cluster) {
	t.Helper()
	stored := text(t, primary.URL(), "SELECT pg_current_wal_flush_lsn()::text")
	await(t, "the standby to catch up", c.URL(), "SELECT pg_last_wal_receive_lsn() >= '"+stored+"'::pg_lsn")
	c.Set(t, "primary_conninfo", "")
	await(t, "the standby to be alone", primary.URL(), "SELECT count(*) = 0 FROM pg_stat_replication")
}

// Promote makes a standby a primary.
func (c *Cluster) Promote(t testing.TB) {
	t.Helper()
	Exec(t, c.URL(), "SELECT pg_promote()")
	await(t, "the promotion", c.URL(), "SELECT NOT pg_is_in_recovery()")
}

// await returns when a query returns true. The server sends no notification of what it asks for.
func await(t testing.TB, what, url, query string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for text(t, url, "SELECT ("+query+")::text") != "true" {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waiting for %s: %v", what, ctx.Err())
		}
	}
}
