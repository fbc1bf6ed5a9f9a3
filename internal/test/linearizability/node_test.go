package linearizability

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/perdure/perdure/internal/fastpath"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/postgres"
	"github.com/perdure/perdure/provider/sqlite"
	"github.com/perdure/perdure/runtime"
)

// ledger is the orchestration of the test. It keeps the entries that it takes, in their order, also when it continues as new.
var ledger = orchestration.Define("ledger", keepEntries)

// names of what the ledger takes.
const (
	addEntry  = "add" // an event and an update
	roll      = "roll"
	stop      = "stop"
	entriesOf = "entries" // a query
)

// page is the answer to the query.
type page struct {
	Execution int64
	Entries   []string
}

func keepEntries(ctx *orchestration.Context, entries []string) ([]string, error) {
	execution := ctx.Info().Execution
	orchestration.HandleQuery(ctx, entriesOf, func(orchestration.None) (page, error) {
		return page{execution, slices.Clone(entries)}, nil
	})
	orchestration.HandleEvent(ctx, addEntry, func(_ *orchestration.Context, entry string) error {
		entries = append(entries, entry)
		return nil
	})
	orchestration.HandleUpdate(ctx, addEntry, func(_ *orchestration.Context, entry string) ([]string, error) {
		entries = append(entries, entry)
		return slices.Clone(entries), nil
	})
	rolls, stops := orchestration.Events[string](ctx, roll), orchestration.Events[string](ctx, stop)
	which, err := orchestration.Select(ctx, rolls, stops)
	if err != nil {
		return entries, err
	}
	taken := rolls
	if which == 1 {
		taken = stops
	}
	entry, err := taken.Receive(ctx)
	if err != nil {
		return entries, err
	}
	entries = append(entries, entry)
	if which == 1 {
		return entries, nil
	}
	return entries, orchestration.ContinueAsNewAfterHandlers(ctx, func() []string { return entries })
}

// address is where a store is.
type address struct {
	Name   string `json:"name"`   // the file, or the URL of a server
	Schema string `json:"schema"` // of Postgres
}

func (a address) open(ctx context.Context) (provider.Provider, error) {
	quiet := slog.New(slog.DiscardHandler)
	if a.Schema != "" {
		return postgres.OpenWith(ctx, a.Name, postgres.Options{Schema: a.Schema, Logger: quiet})
	}
	return sqlite.OpenWith(a.Name, sqlite.Options{Synchronous: sqlite.Normal, Logger: quiet}) //nolint:contextcheck // opening takes none
}

// nodeVariable makes the test binary a node. Its value is a node in JSON.
const nodeVariable = "PERDURE_TEST_LINEARIZABILITY_NODE"

// A node is one of the processes that are killed.
type node struct {
	Store address       `json:"store"`
	Off   fastpath.Set  `json:"off"`
	Lease time.Duration `json:"lease"`
}

// randomNode returns a node without some of the fast paths. Without Sticky, instances go from node to node, which leave executions in memory that
// are overtaken.
func randomNode(at address, random *rand.Rand) node {
	off := []fastpath.Set{0, fastpath.Sticky, fastpath.Set(random.IntN(int(fastpath.All + 1)))}[random.IntN(3)]
	return node{Store: at, Off: off, Lease: between(random, 500*time.Millisecond, 2*time.Second)}
}

// start starts the node in this process.
func (n *node) start(ctx context.Context, store provider.Provider) (*runtime.Runtime, error) {
	reg := runtime.NewRegistry()
	if err := runtime.AddOrchestration(reg, ledger); err != nil {
		return nil, err
	}
	return runtime.Start(fastpath.Without(ctx, n.Off), store, reg, runtime.Options{
		Lease: n.Lease, LocalActivityTime: runtime.Off, Logger: slog.New(slog.DiscardHandler),
	})
}

// runNode is the main function of the process of a node. It says on standard output when it takes work, and ends when its standard input does.
func runNode(of string) error {
	var n node
	if err := json.Unmarshal([]byte(of), &n); err != nil {
		return err
	}
	ctx := context.Background()
	store, err := n.Store.open(ctx)
	if err != nil {
		return err
	}
	rt, err := n.start(ctx, store)
	if err != nil {
		return errors.Join(err, store.Close())
	}
	fmt.Println("ready") //nolint:forbidigo // to the process that kills this one
	_, _ = io.Copy(io.Discard, os.Stdin)
	return errors.Join(rt.Shutdown(ctx), store.Close())
}

// errNotStarted is the error of a node that did not come to take work.
var errNotStarted = errors.New("a node has not started")

// crash starts the process of a node, calls ready when it takes work, and kills it after some time under a lock. It returns an error if
// the process ended by itself.
func (n *node) crash(ctx context.Context, ready func(), after time.Duration, lock sync.Locker) error {
	of, err := json.Marshal(n)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	var printed strings.Builder
	cmd.Env, cmd.Stderr = append(os.Environ(), nodeVariable+"="+string(of)), &printed
	in, err := cmd.StdinPipe() // it ends with this process
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return errors.Join(err, in.Close())
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		_ = cmd.Wait() // its state says why
		return fmt.Errorf("%w: %q, %w, %v\n%s", errNotStarted, line, err, cmd.ProcessState, printed.String())
	}
	ready()
	pause(ctx, after)
	lock.Lock()
	defer lock.Unlock()
	killed := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	if killed != nil || cmd.ProcessState.Exited() {
		return fmt.Errorf("a node ended by itself: %v\n%s", cmd.ProcessState, printed.String())
	}
	return nil
}

// pause waits, at most until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// between returns a random duration.
func between(random *rand.Rand, from, to time.Duration) time.Duration {
	return from + time.Duration(random.Int64N(int64(to-from)))
}
