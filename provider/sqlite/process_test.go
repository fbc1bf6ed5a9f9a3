package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/costs"
	"github.com/perdure/perdure/provider"
)

// child runs the test binary as another process. The role is "what path".
func child(role string) int {
	what, path, _ := strings.Cut(role, " ")
	if err := act(context.Background(), what, path); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

func act(ctx context.Context, what, path string) error {
	p, err := Open(path) //nolint:contextcheck // Open has no context
	if err != nil {
		return err
	}
	defer p.Close() //nolint:errcheck // the process ends
	switch what {
	case "create": // 200 instances, each reported when it is stored
		for i := range 200 {
			if err := createIn(ctx, p, fmt.Sprint("child-", i)); err != nil {
				return err
			}
			say("stored", i)
		}
	case "forever": // until it is killed
		for i := 0; ; i++ {
			if err := createIn(ctx, p, fmt.Sprint("child-", i)); err != nil {
				return err
			}
			say("stored", i)
		}
	case "lease": // takes a turn and says so, then waits for its end
		res, err := p.FetchTurns(ctx, fetchOf("x", newToken(), time.Minute))
		if err != nil {
			return err
		}
		say("leased", len(res.Turns))
		_, err = bufio.NewReader(os.Stdin).ReadString('\n')
		return err
	case "own": // begins a transaction of its own, and stays in it
		tx, err := p.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if _, err := p.CreateIn(ctx, InTx(tx), provider.CreateRequest{ID: "own", Key: newKey(), Commit: newToken(), Name: "x"}); err != nil {
			return err
		}
		say("began", 1)
		_, err = bufio.NewReader(os.Stdin).ReadString('\n')
		return err
	case "end": // ends the instance "w" from here
		_, err := p.Steer(ctx, provider.SteerRequest{ID: "w", Action: provider.SteerTerminate, Commit: newToken()})
		if err != nil {
			return err
		}
		say("ended", 1)
	default:
		return obey(ctx, p, what)
	}
	return nil
}

// obey carries out the commands of a peer, line by line.
func obey(ctx context.Context, p *Provider, what string) error {
	say("ready", 0)
	input := bufio.NewScanner(os.Stdin)
	for n := 0; input.Scan(); n++ {
		switch what {
		case "log": // stores one instance and says how long the log is
			if err := createIn(ctx, p, fmt.Sprint("child-", n)); err != nil {
				return err
			}
			length, err := costs.LogLength(p.store.path)
			if err != nil {
				return err
			}
			say("stored", int(length))
		case "load": // writes as much as it can for a while
			n, err := load(ctx, p, newKey().String(), 8)
			if err != nil {
				return err
			}
			say("wrote", int(n))
		case "midway": // begins to write, says so, and continues when it is sent a line
			_, err := write(ctx, p.handle, what, 0, func(_ *tx, _ *struct{}) error {
				say("writes", 1)
				input.Scan()
				return nil
			})
			if err != nil {
				return err
			}
		case "small":
			if err := smallCommits(ctx, p); err != nil {
				return err
			}
		case "hold": // takes a turn, and does not continue it
			req := fetchOf("x", newToken(), time.Minute)
			req.Owner = "node of the dead"
			res, err := p.FetchTurns(ctx, req)
			if err != nil {
				return err
			}
			say("leased", len(res.Turns))
		case "keep": // makes a turn, and keeps the instance for itself
			n, err := keep(ctx, p)
			if err != nil {
				return err
			}
			say("kept", n)
		case "stop": // ends an execution, or asks its task to stop
			if err := stopTask(ctx, p, input.Text()); err != nil {
				return err
			}
		case "raced": // makes a call on a scene, and says what it heard
			heard, err := playRaced(ctx, p, input.Text())
			if err != nil {
				return err
			}
			say(heard, n)
		case "one": // stores one instance
			say("began", int(time.Now().UnixMicro()))
			if err := createIn(ctx, p, newKey().String()); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep makes all turns that are ready and keeps their instances for a minute.
func keep(ctx context.Context, p *Provider) (n int, err error) {
	req := fetchOf("x", newToken(), time.Minute)
	req.Owner = "node of the dead"
	res, err := p.FetchTurns(ctx, req)
	if err != nil {
		return 0, err
	}
	for i := range res.Turns {
		in := &res.Turns[i].Instance
		_, err := p.CommitTurn(ctx, provider.CommitTurnRequest{
			Key: in.Key, Execution: in.Execution, Expected: in.Version, Commit: newToken(), Status: provider.StatusRunning, Lease: req.Token,
			Consumed: []int64{res.Turns[i].Messages[0].ID}, Events: [][]byte{payload}, Owner: req.Owner, Sticky: time.Minute,
		})
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// say prints a line for the parent process.
func say(what string, n int) {
	if _, err := fmt.Fprintln(os.Stdout, what, n); err != nil {
		panic(err)
	}
}

func createIn(ctx context.Context, p *Provider, id string) error {
	_, err := p.Create(ctx, provider.CreateRequest{
		ID: id, Key: newKey(), Commit: newToken(), Name: "x", Message: provider.NewMessage{Payload: payload},
	})
	return err
}

// start runs a child and returns its lines.
func start(t *testing.T, what, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd, _, lines := startChild(t, what, path)
	return cmd, lines
}

func startChild(tb testing.TB, what, path string) (*exec.Cmd, io.WriteCloser, *bufio.Scanner) {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+what+" "+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	return cmd, in, bufio.NewScanner(out)
}

func TestHazard18_TwoProcessesWriteOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	cmd, lines := start(t, "create", path)
	for i := range 200 {
		if err := createIn(t.Context(), p, fmt.Sprint("parent-", i)); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	for lines.Scan() {
		n++
	}
	if err := cmd.Wait(); err != nil || n != 200 {
		t.Fatalf("the child stored %d: %v", n, err)
	}
	res, err := p.Count(t.Context(), provider.CountRequest{})
	if err != nil || res.Count != 400 {
		t.Fatalf("%d instances, %v: want 400", res.Count, err)
	}
}

func TestHazard38_AnotherProcessWakesParkedFetches(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	got := fetchTurns(t.Context(), p, fetchOf("x", newToken(), time.Minute))
	awaitWaiting(t, p.store.writer, 1)
	cmd, lines := start(t, "create", path)
	f := <-got
	if f.err != nil || len(f.res.Turns) == 0 {
		t.Fatalf("fetched %+v", f)
	}
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestAnotherProcessWakesWaitingGets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	create(t, p, "w", "x")
	done := make(chan error, 1)
	go func() {
		res, err := p.Get(t.Context(), provider.GetRequest{ID: "w", WaitEnded: true, Wait: time.Minute})
		if err == nil && res.Instance.Status != provider.StatusTerminated {
			err = fmt.Errorf("status %s", res.Instance.Status)
		}
		done <- err
	}()
	await(t, "a waiting call", func() bool { return p.store.hub.Waiting() == 1 })
	cmd, lines := start(t, "end", path)
	lines.Scan() // it has committed, or it has failed
	begin := time.Now()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d > 7*time.Second { // half of the slow recheck
		t.Errorf("woken after %v: by the slow recheck only", d)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestHazard01_CommitSeesWhatAnotherProcessDid(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	c := startChain(t, p, "w") // the writer has its head cached now
	cmd, _ := start(t, "end", path)
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := c.step(t); !errors.Is(err, provider.ErrConflict) {
		t.Fatalf("error %v: want ErrConflict, another process terminated the instance", err)
	}
}

func TestKilledWriterLosesNothingThatItTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	cmd, lines := start(t, "forever", path)
	reported := 0
	for reported < 50 && lines.Scan() {
		reported++
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		reported++
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child was not killed")
	}
	res, err := p.Count(t.Context(), provider.CountRequest{})
	if err != nil || res.Count < int64(reported) || res.Count > int64(reported)+1 {
		t.Fatalf("%d instances, %v: the child has reported %d", res.Count, err, reported)
	}
	if err := createIn(t.Context(), p, "after"); err != nil {
		t.Fatal("the file lock is stuck:", err)
	}
}

func otherNode(wait time.Duration) provider.FetchTurnsRequest {
	req := fetchOf("x", newToken(), wait)
	req.Owner = "another node"
	return req
}
