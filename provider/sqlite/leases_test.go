package sqlite

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// stopTask terminates an instance, or cancels its task, in the other process.
func stopTask(ctx context.Context, p *Provider, id string) error {
	res, err := p.Get(ctx, provider.GetRequest{ID: id})
	if err != nil {
		return err
	}
	in := &res.Instance
	say("stops", int(time.Now().UnixMicro()))
	if !strings.HasPrefix(id, "cancel") {
		_, err = p.Steer(ctx, provider.SteerRequest{Key: in.Key, Action: provider.SteerTerminate, Commit: newToken()})
		return err
	}
	_, err = p.CommitTurn(ctx, provider.CommitTurnRequest{
		Key: in.Key, Execution: in.Execution, Expected: in.Version, Commit: newToken(), Status: provider.StatusRunning,
		Events: [][]byte{payload}, CancelTasks: []provider.CancelTask{{EventID: 1}},
	})
	return err
}

// leasedTo makes an instance with a task that a node of this process has leased.
func leasedTo(t *testing.T, p *Provider, id string) provider.TaskRef {
	t.Helper()
	in := create(t, p, id, "x")
	_, err := p.CommitTurn(t.Context(), provider.CommitTurnRequest{
		Key: in.Key, Execution: 1, Expected: in.Version, Commit: newToken(), Status: provider.StatusRunning, Consumed: []int64{1},
		Tasks: []provider.NewTask{{
			EventID: 1, Queue: "q", Name: "n", Lease: &provider.TaskLease{Token: newToken(), Owner: "node", Duration: time.Hour},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return provider.TaskRef{Key: in.Key, Execution: 1, EventID: 1}
}

// A process notices at once that another one has ended an execution, or cancelled a task, whose activity it runs. It also
// notices the very first commit of the other process.
func TestAnotherProcessStopsRunningTasks(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	notices := make(chan provider.Notice, 1000)
	defer p.Notify(func(n provider.Notice) { notices <- n })()
	ctx, cancel := context.WithCancel(t.Context())
	fetching := fetchTurns(ctx, p, fetchOf("nobody", newToken(), time.Minute)) // as a node that waits for work
	defer func() {
		cancel()
		<-fetching
	}()
	cmd, in, lines := startChild(t, "stop", path)
	if !lines.Scan() {
		t.Fatal("the child does not begin")
	}
	var took []time.Duration
	for i := range 20 {
		id := fmt.Sprint([]string{"terminate", "cancel"}[i%2], i)
		ref := leasedTo(t, p, id)
		if _, err := io.WriteString(in, id+"\n"); err != nil || !lines.Scan() {
			t.Fatal("the child does not stop the task", err)
		}
		var at int64
		if _, err := fmt.Sscanf(lines.Text(), "stops %d", &at); err != nil {
			t.Fatal(err)
		}
		for deadline := time.After(20 * time.Second); ; {
			select {
			case n := <-notices:
				if n.Key != ref.Key {
					continue
				}
			case <-deadline:
				t.Fatalf("%s: no notice came", id)
			}
			break
		}
		took = append(took, time.Since(time.UnixMicro(at)))
	}
	slices.Sort(took)
	t.Logf("noticed after %v at p50, %v at most", took[len(took)/2], took[len(took)-1])
	_ = in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Leases that are over are forgotten.
func TestNotedLeasesAreBounded(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	long := leasedTo(t, p, "long")
	w := p.store.writer
	w.lock.Lock()
	defer w.lock.Unlock()
	for i := range 5 * minHeld {
		w.others.leases.note(provider.TaskRef{Key: provider.UUID{1}, Execution: 1, EventID: int64(i)})
		w.others.leases.nextRead = time.Time{}
		w.notify()
	}
	if refs := w.others.leases.refs; len(refs) > minHeld || refs[0] != long {
		t.Errorf("%d leases are noted, the first is %v", len(refs), refs[0])
	}
}
