package postgrestest

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Pooler runs PgBouncer in transaction mode before the cluster until the test ends, and returns its URL. Without
// PgBouncer the test is skipped, or fails with CI=true.
func (c *Cluster) Pooler(t testing.TB) string {
	t.Helper()
	program, err := pgbouncer()
	if err != nil {
		missing(t, err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	user, err := serverUser()
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(c.dir, "pgbouncer.ini")
	users := filepath.Join(c.dir, "users.txt")
	// Cases that run side by side hold transactions of callers open, and each of them keeps a connection to the server.
	files := map[string]string{users: `"postgres" ""`, config: strings.Join([]string{
		"[databases]", fmt.Sprintf("* = host=127.0.0.1 port=%d", c.port),
		"[pgbouncer]", "listen_addr = 127.0.0.1", fmt.Sprintf("listen_port = %d", port), "unix_socket_dir =",
		"auth_type = trust", "auth_file = " + users, "pool_mode = transaction", "default_pool_size = 16", "max_client_conn = 200", "",
	}, "\n")}
	for name, content := range files {
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil { //nolint:gosec // the server's user reads it, and it holds no secret
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), program, "--quiet", config)
	cmd.Dir, cmd.SysProcAttr = c.dir, dying(attributes(user))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // the context of the test has ended it
	address := fmt.Sprintf("127.0.0.1:%d", port)
	awaitPort(t, address)
	return fmt.Sprintf("postgres://postgres@%s/postgres?sslmode=disable", address)
}

// awaitPort returns when a server accepts connections on the port.
func awaitPort(t testing.TB, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close() // it has served
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("nobody listens at %s: %v", address, err)
		}
	}
}
