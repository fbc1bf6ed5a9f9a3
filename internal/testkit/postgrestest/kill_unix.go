//go:build unix

package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Kill ends the server with SIGKILL, all of its processes at once. Data in their memory that is not in a file is lost.
// [Cluster.Stop] with SIGKILL kills only the first process, and the others finish their work.
func (c *Cluster) Kill(t testing.TB) {
	t.Helper()
	if err := c.kill(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) kill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := pgx.Connect(ctx, c.URL())
	if err != nil {
		return fmt.Errorf("asking for the processes of postgres: %w", err)
	}
	defer conn.Close(ctx) //nolint:errcheck // the other end is dead
	// The first process is stopped, so that it starts no others after the count and notices no death.
	if err := c.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	rows, err := conn.Query(ctx, "SELECT pid FROM pg_stat_activity")
	if err != nil {
		return fmt.Errorf("asking for the processes of postgres: %w", err)
	}
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return fmt.Errorf("asking for the processes of postgres: %w", err)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("killing a process of postgres: %w", err)
		}
	}
	return c.stop(syscall.SIGKILL)
}

// signal sends a signal to the first process.
func (c *Cluster) signal(signal syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return errors.New("postgres does not run")
	}
	if err := c.server.Process.Signal(signal); err != nil {
		return fmt.Errorf("signalling postgres: %w", err)
	}
	return nil
}
