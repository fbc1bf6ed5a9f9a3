//go:build unix

package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
	// A process that just begins stands in no view yet.
	for _, pid := range append(pids, children(c.pid())...) {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("killing a process of postgres: %w", err)
		}
	}
	return c.stop(syscall.SIGKILL)
}

// children returns the processes that another one has started, where the system shows them in /proc.
func children(parent int) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		name := bytes.LastIndexByte(data, ')') // the name may hold anything
		fields := strings.Fields(string(data[name+1:]))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// pid returns the number of the first process, 0 if none runs.
func (c *Cluster) pid() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return 0
	}
	return c.server.Process.Pid
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
