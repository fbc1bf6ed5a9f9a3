package pending

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// dying is the environment variable that makes a process run a node until it is killed. Its value holds the store and
// how the activity is pending.
const dying = "PERDURE_TEST_PENDING"

// dyingLease is the lease of that node. A busy machine must not lose it before the node is killed. Tests wait until it
// is over, so it is short.
const dyingLease = 4 * second

// liveUntilKilled runs a node that prints the token of every activity that it runs.
func liveUntilKilled(where string) int {
	fields := strings.Split(where, "|")
	err := func() error {
		store, err := open(context.Background(), fields[0], fields[1])
		if err != nil {
			return err
		}
		reg := runtime.NewRegistry()
		err = runtime.AddActivity(reg, activity.Define("approve", func(ctx context.Context, _ int) (string, error) {
			fmt.Println(activity.Token(ctx)) //nolint:forbidigo // to the test that started the process
			return "", modes[fields[2]]
		}))
		if err != nil {
			return err
		}
		_, err = runtime.Start(context.Background(), store, reg, runtime.Options{Lease: dyingLease})
		return err
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	time.Sleep(time.Minute) //nolint:forbidigo // it is killed long before; it ends by itself should the test be
	return 0
}

// child starts that process and returns its first token.
func child(t testing.TB, where string) (*exec.Cmd, string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), dying+"="+where)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the other process says nothing: %v", err)
	}
	return cmd, strings.TrimSpace(line)
}

func kill(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil { // SIGKILL
		t.Fatal(err)
	}
	_ = cmd.Wait()
}

// turns registers only the orchestration, so that the activity runs in the process that dies.
func turns(t testing.TB) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	enginetest.Orchestration(t, reg, "main", func(ctx *orchestration.Context, n int) (string, error) {
		return orchestration.CallActivityNamed[string](ctx, "approve", n)
	})
	return reg
}

// Park, kill -9, restart, complete: the function ran once, in the killed process.
func TestHazard30_ParkedSurvivesKill(t *testing.T) {
	t.Parallel()
	onDisk(t, runtime.Options{}, func(e *enginetest.Engine, address, schema string) {
		before := e.Start(turns(e.T))
		key := e.Create("approval", "main", 1)
		cmd, token := child(e.T, address+"|"+schema+"|parked")
		settled(e, key, activity.ErrParked)
		e.Stop(before)
		kill(e.T, cmd)
		a := newApproval(activity.ErrParked)
		reg := registry(e.T, a.work)
		e.Start(reg)
		e.Create("another", "main", 1)
		other := <-a.tokens             // the new node runs whatever there is to run
		time.Sleep(dyingLease + second) //nolint:forbidigo // a lease, had there been one, would be over
		if len(a.tokens) != 0 || other == token {
			e.T.Error("it ran again")
		}
		c := caller(e, reg)
		if err := client.CompleteActivity(e.T.Context(), c, token, "approved"); err != nil {
			e.T.Error(err)
		}
		if got := enginetest.Output[string](e, key); got != "approved" {
			e.T.Errorf("got %q", got)
		}
		if err := client.CompleteActivity(e.T.Context(), c, other, "approved"); err != nil {
			e.T.Error(err)
		}
	})
}

// An activity that holds its slot dies with its node, and runs again with another token.
func TestHeldRunsAgainAfterKill(t *testing.T) {
	t.Parallel()
	onDisk(t, runtime.Options{}, func(e *enginetest.Engine, address, schema string) {
		before := e.Start(turns(e.T))
		key := e.Create("approval", "main", 1)
		cmd, token := child(e.T, address+"|"+schema+"|held")
		e.Stop(before)
		kill(e.T, cmd)
		a := newApproval(activity.ErrPending)
		reg := registry(e.T, a.work)
		e.Start(reg)
		again := <-a.tokens
		c := caller(e, reg)
		refused(e, "the dead node's token", client.CompleteActivity(e.T.Context(), c, token, "x"), activity.ErrLeaseLost)
		if err := client.CompleteActivity(e.T.Context(), c, again, "approved"); err != nil {
			e.T.Error(err)
		}
		if got := enginetest.Output[string](e, key); got != "approved" {
			e.T.Errorf("got %q", got)
		}
	})
}
