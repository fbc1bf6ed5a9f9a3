package postgrestest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// patience is the time limit for starting or stopping a server.
const patience = time.Minute

// Cluster is a throw-away Postgres server on loopback. It dies with the process that made it.
type Cluster struct {
	dir      string
	programs string
	port     int
	settings []string

	mu     sync.Mutex
	server *exec.Cmd // nil while stopped
	ended  chan struct{}
	output bytes.Buffer
}

// New makes a cluster for one test and starts it. Settings have the form "name=value". The cluster is removed at the
// end of the test. It does not wait for the disk unless settings demand it.
func New(t testing.TB, settings ...string) *Cluster {
	t.Helper()
	return NewIn(t, "", settings...)
}

// NewIn is New for a cluster in a folder of its own below dir, which the server's user must be able to enter.
func NewIn(t testing.TB, dir string, settings ...string) *Cluster {
	t.Helper()
	c, err := newCluster(dir, (*Cluster).initdb, settings)
	return c.until(t, err)
}

// until returns a cluster that was made for a test, and removes it at the end of the test.
func (c *Cluster) until(t testing.TB, err error) *Cluster {
	t.Helper()
	if errors.Is(err, errMissing) {
		missing(t, err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.remove(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// missing ends a test without a server: in CI as a failure.
func missing(t testing.TB, err error) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(err)
	}
	t.Skip(err)
}

// newCluster makes a cluster in a new folder below dir and starts it.
func newCluster(dir string, initialise func(*Cluster) error, settings []string) (*Cluster, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	// The server's user could not enter a folder of the test.
	dir, err = os.MkdirTemp(dir, "perdure-postgres-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for Postgres: %w", err)
	}
	c := &Cluster{dir: dir, programs: bin, settings: settings}
	if err := initialise(c); err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := c.start(); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c, nil
}

func (c *Cluster) data() string { return filepath.Join(c.dir, "data") }

// initialise makes the data in an empty folder, with a program of Postgres, and chooses a port.
func (c *Cluster) initialise(program string, args ...string) error {
	user, err := serverUser()
	if err != nil {
		return err
	}
	if user != nil {
		if err := os.Chown(c.dir, int(user.Uid), int(user.Gid)); err != nil {
			return fmt.Errorf("giving the folder to the server's user: %w", err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(c.programs, program), append(args, "--pgdata", c.data(), "--no-sync")...)
	cmd.Dir = c.dir
	cmd.SysProcAttr = attributes(user)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", program, err, out)
	}
	c.port, err = freePort()
	return err
}

// initdb makes an empty database.
func (c *Cluster) initdb() error {
	return c.initialise("initdb", "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C.UTF-8")
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it listens for no longer than the next line
	if err != nil {
		return 0, fmt.Errorf("finding a port: %w", err)
	}
	address, ok := l.Addr().(*net.TCPAddr)
	if err := l.Close(); err != nil || !ok {
		return 0, fmt.Errorf("finding a port: %w", err)
	}
	return address.Port, nil
}

// URL returns the connection string of the database "postgres".
func (c *Cluster) URL() string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", c.port)
}

// Port returns the port on 127.0.0.1.
func (c *Cluster) Port() int { return c.port }

// Start starts a stopped server and returns when it accepts connections.
func (c *Cluster) Start(t testing.TB) {
	t.Helper()
	if err := c.start(); err != nil {
		t.Fatal(err)
	}
}

// Revive returns when the server accepts connections. It starts the server again if that has ended by itself.
func (c *Cluster) Revive(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	ended := c.ended
	c.mu.Unlock()
	if err := c.awaitReady(ended); err == nil {
		return
	}
	c.Stop(t, syscall.SIGKILL)
	c.Start(t)
}

// Demote makes a server that is stopped start as a standby, one that gets nothing from any primary.
func (c *Cluster) Demote(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.data(), "standby.signal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Stop ends the server. syscall.SIGTERM waits for its clients, SIGINT ends their sessions, SIGQUIT is Postgres'
// immediate mode, and SIGKILL kills it.
func (c *Cluster) Stop(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if err := c.stop(signal); err != nil {
		t.Fatal(err)
	}
}

func (c *Cluster) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server != nil {
		return errors.New("postgres runs already")
	}
	user, err := serverUser()
	if err != nil {
		return err
	}
	args := []string{"-D", c.data(), "-p", strconv.Itoa(c.port), "-h", "127.0.0.1", "-k", c.dir}
	for _, s := range append([]string{"fsync=off", "synchronous_commit=on", "max_connections=200", "log_min_messages=warning"}, c.settings...) {
		args = append(args, "-c", s)
	}
	cmd := exec.Command(filepath.Join(c.programs, "postgres"), args...) //nolint:noctx // it lives as long as the cluster, which ends it
	cmd.Dir, cmd.SysProcAttr = c.dir, dying(attributes(user))
	cmd.Stdout, cmd.Stderr = &c.output, &c.output
	started, ended := make(chan error), make(chan struct{})
	go func() {
		// The signal on the parent's death belongs to a thread, so this one must stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(ended)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the test chose how it ends
		}
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("starting postgres: %w", err)
	}
	c.server, c.ended = cmd, ended
	return c.awaitReady(ended)
}

// awaitReady connects until the server accepts it. A server sends no notification when it is ready.
func (c *Cluster) awaitReady(ended <-chan struct{}) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, c.URL())
		if err == nil {
			return conn.Close(ctx) //nolint:wrapcheck // a test's message
		}
		select {
		case <-tick.C:
		case <-ended:
			return fmt.Errorf("postgres ended as it started:\n%s", c.output.String())
		case <-ctx.Done():
			return fmt.Errorf("postgres takes no connections: %w\n%s", err, c.output.String())
		}
	}
}

func (c *Cluster) stop(signal syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server == nil {
		return nil
	}
	if err := c.server.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping postgres: %w", err)
	}
	select {
	case <-c.ended:
	case <-time.After(patience):
		return errors.New("postgres does not stop")
	}
	c.server = nil
	return nil
}

func (c *Cluster) remove() error { return errors.Join(c.stop(syscall.SIGQUIT), os.RemoveAll(c.dir)) }
