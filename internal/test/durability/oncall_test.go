//go:build unix

package durability

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// paying is the environment variable that makes a process run a node until its standard input ends. Its value holds the address and the schema of
// the store.
const paying = "PERDURE_TEST_PAYING_NODE"

// pays is the main function of that process. It says when the node runs.
func pays(where string) int {
	address, schema, _ := strings.Cut(where, "|")
	store, err := storeOf(context.Background(), address, schema)
	var node *runtime.Runtime
	if err == nil {
		defer store.Close() //nolint:errcheck // nothing depends on its end
		node, err = payNode(context.Background(), store)
	}
	if err == nil {
		fmt.Println("ready")                 //nolint:forbidigo // to the test that started the process
		_, _ = io.Copy(io.Discard, os.Stdin) // until the test closes it
		err = shut(context.Background(), node)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// payNode starts a node whose code pays, or fails, and has an activity that fails in each attempt and is tried again an hour later.
func payNode(ctx context.Context, store provider.Provider) (*runtime.Runtime, error) {
	reg := runtime.NewRegistry()
	pay := func(_ *orchestration.Context, good bool) (bool, error) {
		if !good {
			return false, errors.New("refused")
		}
		return true, nil
	}
	charge := func(ctx *orchestration.Context, _ bool) (bool, error) {
		return orchestration.CallActivityNamed[bool](ctx, "charge", true,
			orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 100, InitialInterval: time.Hour, MaxInterval: time.Hour}))
	}
	err := errors.Join(
		runtime.AddActivity(reg, activity.Define("charge", func(context.Context, bool) (bool, error) { return false, errors.New("busy") })),
		runtime.AddOrchestration(reg, orchestration.Define("pay", pay)),
		runtime.AddOrchestration(reg, orchestration.Define("charging", charge)),
	)
	if err != nil {
		return nil, err
	}
	return runtime.Start(ctx, store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
}

// till is a process with such a node.
type till struct {
	cmd *exec.Cmd
	in  interface{ Close() error }
}

func newTill(t *testing.T, where string) *till {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), paying+"="+where)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if lines := bufio.NewScanner(out); !lines.Scan() || lines.Text() != "ready" {
		t.Fatalf("the node says %q", lines.Text())
	}
	return &till{cmd, in}
}

// kill ends the process as it is.
func (n *till) kill(t *testing.T) {
	t.Helper()
	if err := n.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Wait(); err == nil || n.cmd.ProcessState.Exited() {
		t.Fatalf("the node was not killed: %v", err)
	}
}

// close shuts the node down.
func (n *till) close(t *testing.T) {
	t.Helper()
	if err := n.in.Close(); err != nil {
		t.Error(err)
	}
	if err := n.cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// eachStore runs a test with a client in this process, on stores that other processes open, too.
func eachStore(t *testing.T, test func(t *testing.T, store provider.Provider, where string)) {
	t.Helper()
	run := func(t *testing.T, address, schema string) {
		t.Helper()
		store, err := storeOf(t.Context(), address, schema)
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close() //nolint:errcheck // nothing depends on its end
		test(t, store, address+"|"+schema)
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		run(t, filepath.Join(t.TempDir(), "store.db"), "")
	})
	t.Run("postgres", func(t *testing.T) {
		longtest.Skip(t)
		t.Parallel()
		url := postgrestest.URL(t)
		run(t, url, postgrestest.Schema(t, url))
	})
}

// until asks again and again, for longer than any test needs.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(8 * time.Minute); !done(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("it never came that %s", what)
		}
	}
}

// A node is killed, and another one begins some minutes later. What the first had written stays. What it had not is lost: the time after its last
// record, in which nobody counted, is a gap in all windows, and nowhere a zero. It takes minutes, since nodes write once a minute.
func TestKilledNodeLeavesAGapInFigures(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	eachStore(t, func(t *testing.T, store provider.Provider, where string) {
		t.Helper()
		c, err := client.New(store, client.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		read := func(w client.FiguresWindow) *client.Figures {
			t.Helper()
			f, err := c.Figures(t.Context(), client.FiguresRequest{Window: w})
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		pay := func(id string, good, bad int) {
			t.Helper()
			for i := range good + bad {
				h, err := client.StartNamed[bool](t.Context(), c, "pay", i < good, client.WithID(fmt.Sprint(id, i)))
				if err == nil {
					_, err = h.Wait(t.Context())
				}
				if (err != nil) != (i >= good) {
					t.Fatal(id, i, err)
				}
			}
		}
		now := func() time.Time { // of the storage, to the minute
			t.Helper()
			res, err := store.(provider.Keeper).Record(t.Context(), provider.RecordRequest{Action: provider.RecordScan, Namespace: "none", Max: 1})
			if err != nil {
				t.Fatal(err)
			}
			return res.Now.Std().Truncate(time.Minute)
		}
		first := newTill(t, where)
		pay("first", 3, 1)
		want := client.FiguresCounts{Started: 4, Completed: 3, Failed: 1}
		until(t, "the first node has written", func() bool { return read(client.FiguresHour).Totals == want })
		pay("lost", 2, 0) // in the minute that it does not write any more
		killed := now()
		first.kill(t)
		until(t, "three minutes are over", func() bool { return now().Sub(killed) >= 3*time.Minute })
		again := newTill(t, where)
		begun := now()
		pay("second", 2, 0)
		want.Started, want.Completed = 6, 5
		until(t, "the second node has written", func() bool { return read(client.FiguresHour).Totals == want })
		f := read(client.FiguresHour)
		gap, known := 0, 0
		for _, p := range f.Points {
			switch {
			case p.At.Before(killed) && p.Counts != nil && p.Counts.Started > 0:
				known++
				if p.Known == client.FiguresNone {
					t.Errorf("what was written before the kill is not known any more: %+v", p)
				}
			case p.At.After(killed) && p.At.Before(begun):
				gap++
				if p.Known != client.FiguresNone || p.Counts != nil || p.Backlog != nil {
					t.Errorf("the minute from %v on, in which no node ran: %+v, want a gap", p.At, p)
				}
			case p.At.Equal(killed) && p.Known == client.FiguresAll:
				t.Errorf("the minute of the kill is wholly known: %+v", p)
			}
		}
		if gap < 2 || known == 0 || f.Whole {
			t.Errorf("%d minutes of a gap, %d that the first node had written, whole: %v", gap, known, f.Whole)
		}
		again.close(t)
		for _, w := range []client.FiguresWindow{client.FiguresHour, client.FiguresDay, client.FiguresWeek} {
			f := read(w)
			if f.Totals != want {
				t.Errorf("the last %s: %+v, want %+v", w, f.Totals, want)
			}
			for _, p := range f.Points {
				if p.Known == client.FiguresAll && p.At.Before(begun) && !p.Until.Before(killed) {
					t.Errorf("the last %s: %+v is wholly known, and a node was killed at %v", w, p, killed)
				}
			}
		}
	})
}

// A job that begins the waiting attempts of many instances has its node killed in its middle, several times. In the end each instance has had one
// attempt more: none two, although a repeated step meets the attempt after the one that it had seen, and none is left out.
func TestKilledNodeRetriesEachAttemptOnce(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, store provider.Provider, where string) {
		t.Helper()
		c, err := client.New(store, client.Options{Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		const instances = 60
		var handles []client.Handle[bool]
		for i := range instances {
			h, err := client.StartNamed[bool](t.Context(), c, "charging", true, client.WithID(fmt.Sprint("charging-", i)))
			if err != nil {
				t.Fatal(err)
			}
			handles = append(handles, h)
		}
		// pending counts the instances by the attempt that waits for its time, 0: none does.
		pending := func() map[int64]int {
			t.Helper()
			counts := map[int64]int{}
			for _, h := range handles {
				res, err := store.Get(t.Context(), provider.GetRequest{Key: h.Key(), WithTasks: true})
				if err != nil {
					t.Fatal(err)
				}
				attempt := int64(0)
				for _, task := range res.Tasks {
					if task.NotBefore > res.Now {
						attempt = task.Attempt
					}
				}
				counts[attempt]++
			}
			return counts
		}
		node := newTill(t, where)
		until(t, "all wait for their second attempt", func() bool { return pending()[2] == instances })
		job, err := operate.New(c).StartBulk(t.Context(), operate.BulkJob{Act: client.ActRetryNow, Filter: client.Filter{IDPrefix: "charging-"}, Max: instances, Rate: 20})
		if err != nil {
			t.Fatal(err)
		}
		random, left := dice(t), instances
		for range 3 {
			goal := left - 2 - random.IntN(8)
			until(t, "the job acts", func() bool { return pending()[2] <= goal })
			node.kill(t)
			counts := pending()
			t.Logf("killed with %v", counts)
			if left = counts[2]; left == 0 || left == instances {
				t.Fatalf("%v: the kill did not hit the job in its middle", counts)
			}
			node = newTill(t, where)
		}
		var info operate.BulkInfo
		until(t, "the job is over", func() bool {
			if info, err = job.Describe(t.Context()); err != nil {
				t.Fatal(err)
			}
			return info.Over()
		})
		if info.Phase != operate.BulkDone || info.Done != instances || info.Skipped+info.Failed != 0 {
			t.Errorf("%+v, want all %d done", info, instances)
		}
		until(t, "all attempts wait again", func() bool { return pending()[0] == 0 })
		if counts := pending(); counts[3] != instances {
			t.Errorf("instances by the attempt that waits: %v, want all at the third", counts)
		}
		node.close(t)
		sound(t, store, invariant.Options{Idle: true})
	})
}
