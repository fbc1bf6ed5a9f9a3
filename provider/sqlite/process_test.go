package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// child is what the test binary does as another process: role is "what path".
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
	case "create": // 200 instances, each told when it is stored
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
	case "end": // ends the instance "w" from here
		_, err := p.Steer(ctx, provider.SteerRequest{ID: "w", Action: provider.SteerTerminate, Commit: newToken()})
		return err
	}
	return nil
}

// say tells the parent process.
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

// start runs a child and answers its lines.
func start(t *testing.T, what, path string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+what+" "+path)
	cmd.Stderr = os.Stderr
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(out)
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
	awaitParked(t, p.store.writer, 1)
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
	cmd, _ := start(t, "end", path)
	begin := time.Now()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if d := time.Since(begin); d > recheckEvery/2 {
		t.Errorf("told after %v: by the slow recheck only", d)
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
	told := 0
	for told < 50 && lines.Scan() {
		told++
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		told++
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child was not killed")
	}
	res, err := p.Count(t.Context(), provider.CountRequest{})
	if err != nil || res.Count < int64(told) || res.Count > int64(told)+1 {
		t.Fatalf("%d instances, %v: the child was told of %d", res.Count, err, told)
	}
	if err := createIn(t.Context(), p, "after"); err != nil {
		t.Fatal("the turnstile is stuck:", err)
	}
}

func TestHazard24_LeasesOfADeadProcessEnd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	create(t, p, "one", "x")
	cmd, lines := start(t, "lease", path)
	if !lines.Scan() || lines.Text() != "leased 1" {
		t.Fatal("the child leased nothing:", lines.Text())
	}
	if res, err := p.FetchTurns(t.Context(), otherNode(0)); err != nil || len(res.Turns) != 0 {
		t.Fatal("the child's lease does not hold:", res, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child was not killed")
	}
	begin := time.Now()
	res, err := p.FetchTurns(t.Context(), otherNode(time.Minute))
	if err != nil || len(res.Turns) != 1 {
		t.Fatal(res, err)
	}
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("taken over after %v: the lease of 30 s was waited for", d)
	}
}

// Every transaction looks for foreign commits, so that a busy writer never comes to look
// in between; it must find out about the dead all the same.
func TestHazard24_BusySurvivorEndsLeasesOfADeadProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	create(t, p, "one", "x")
	cmd, lines := start(t, "lease", path)
	if !lines.Scan() || lines.Text() != "leased 1" {
		t.Fatal("the child leased nothing:", lines.Text())
	}
	_, err := write(t.Context(), p, "busy", 0, func(x *tx, _ *struct{}) error {
		x.writer.foreign.looked = time.Now().Add(time.Hour) // as if a transaction were always just over
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the child was not killed")
	}
	got := fetchTurns(t.Context(), p, otherNode(time.Minute))
	await(t, "the takeover, while the lease of 30 s lasts", func() bool {
		p.store.writer.poke()
		return len(got) == 1
	})
	if f := <-got; f.err != nil || len(f.res.Turns) != 1 {
		t.Fatalf("fetched %+v", f)
	}
}

func otherNode(wait time.Duration) provider.FetchTurnsRequest {
	req := fetchOf("x", newToken(), wait)
	req.Owner = "another node"
	return req
}
