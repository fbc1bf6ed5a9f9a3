//go:build unix

package sqlite

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

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

// Every transaction polls for commits of other processes, so a busy writer never polls in between. It must notice dead processes, too.
func TestHazard24_BusySurvivorEndsLeasesOfADeadProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	create(t, p, "one", "x")
	cmd, lines := start(t, "lease", path)
	if !lines.Scan() || lines.Text() != "leased 1" {
		t.Fatal("the child leased nothing:", lines.Text())
	}
	_, err := write(t.Context(), p.handle, "busy", 0, func(_ *tx, _ *struct{}) error {
		p.store.writer.others.polledAt = time.Now().Add(time.Hour) // as if a transaction had always just ended
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
		p.store.writer.queue.Wake()
		return len(got) == 1
	})
	if f := <-got; f.err != nil || len(f.res.Turns) != 1 {
		t.Fatalf("fetched %+v", f)
	}
}

// The leases of a dead process end though a third process keeps using the file and nothing else wakes a writer.
func TestHazard24_LeasesOfADeadProcessEndBesideAThird(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	startPeer(t, "stay", path)
	c := startChain(t, p, "w")
	create(t, p, "one", "x")
	if err := c.step(t); err != nil { // a task leased here, which the death of the other process must not touch
		t.Fatal(err)
	}
	holder := startPeer(t, "hold", path)
	holder.send()
	if n := holder.receive("leased"); n != 1 {
		t.Fatalf("the peer leased %d", n)
	}
	got := fetchTurns(t.Context(), p, otherNode(time.Minute))
	awaitWaiting(t, p.store.writer, 1)
	if gone, err := ownerGone(t, p, "node of the dead"); gone || err != nil {
		t.Fatal("a living owner is known dead", err)
	}
	begin := time.Now()
	holder.kill()
	f := <-got
	if f.err != nil || len(f.res.Turns) != 1 {
		t.Fatalf("fetched %+v", f)
	}
	t.Logf("taken over after %v", time.Since(begin))
	if d := time.Since(begin); d > 10*time.Second { // ten times of what is promised; the lease lasts 30 s
		t.Errorf("taken over after %v: want one second", d)
	}
	if err := c.step(t); err != nil {
		t.Error("the survivor's own lease:", err)
	}
}

func ownerGone(t *testing.T, p *Provider, owner string) (gone bool, err error) {
	t.Helper()
	err = p.read(t.Context(), "test", func(c *conn) error {
		all, err := p.store.goneOwners(queries{statements: bound{t.Context(), c}})
		gone = all[owner]
		return err
	})
	return gone, err
}

// Sending to an instance does not enroll the owner that it is kept for. When that owner's process dies, the instance is free.
func TestHazard24_SenderDoesNotServeTheOwnerOfAnotherProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	key := create(t, p, "one", "x").Key
	keeper := startPeer(t, "keep", path)
	keeper.send()
	if n := keeper.receive("kept"); n != 1 {
		t.Fatalf("the peer keeps %d", n)
	}
	if _, err := p.Send(t.Context(), provider.SendRequest{Key: key, Message: provider.NewMessage{Payload: payload}}); err != nil {
		t.Fatal(err)
	}
	if res, err := p.FetchTurns(t.Context(), otherNode(0)); err != nil || len(res.Turns) != 0 {
		t.Fatal("the instance is not kept:", res, err)
	}
	keeper.kill()
	begin := time.Now()
	res, err := p.FetchTurns(t.Context(), otherNode(20*time.Second))
	if err != nil || len(res.Turns) != 1 {
		t.Fatalf("%d turns after %v, %v: the instance is kept for the dead", len(res.Turns), time.Since(begin), err)
	}
}

// A stopped process may continue, so its lease holds until it expires.
func TestHazard24_StoppedProcessKeepsItsLease(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	create(t, p, "one", "x")
	holder := startPeer(t, "hold", path)
	holder.send()
	holder.receive("leased")
	if err := holder.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	res, err := p.FetchTurns(t.Context(), otherNode(4*livenessEvery))
	if err != nil || len(res.Turns) != 0 {
		t.Errorf("fetched %d turns of a process that is stopped, %v", len(res.Turns), err)
	}
	holder.kill()
}

// A process must not take its own number for dead, nor an owner that no process has enrolled.
func TestHazard24_InDoubtAnOwnerIsAlive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	startChain(t, p, "w") // enrolls "node"
	other, err := openPresence(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = write(t.Context(), p.handle, "enroll", 0, func(x *tx, _ *struct{}) error {
		p.store.writer.others.processesRead = false
		_, err := x.exec(`INSERT INTO perdure_owner VALUES (?, 'elsewhere'), (?, 'both'), (?, 'both')`,
			other.process, other.process, p.store.presence.process)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for owner, want := range map[string]bool{"node": false, "unknown": false, "elsewhere": false, "both": false} {
		if gone, err := ownerGone(t, p, owner); gone != want || err != nil {
			t.Errorf("%s: gone %v, %v", owner, gone, err)
		}
	}
	if p.store.presence.gone(other.process) || p.store.presence.alone() {
		t.Error("the locks of processes are not seen")
	}
	other.close()
	if !p.store.presence.gone(other.process) || !p.store.presence.alone() {
		t.Error("the end of a process is not seen")
	}
	p.store.writer.queue.Wake()
	await(t, "the liveness check", func() bool {
		gone, err := ownerGone(t, p, "elsewhere")
		n := int64(0)
		if err == nil {
			err = p.read(t.Context(), "test", func(c *conn) error {
				n, err = c.integer(t.Context(), `SELECT count(*) FROM perdure_owner`)
				return err
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		return !gone && n == 2 // "node" and "both" of this process: the rows of dead processes are removed
	})
}

// After a writer is killed others write at once, whether it was inside a transaction or not.
func TestHazard18_SurvivorWritesOnAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	other := startPeer(t, "midway", path)
	other.send()
	if n := other.receive("writes"); n != 1 {
		t.Fatal("the peer does not write")
	}
	waits := make(chan error, 1)
	go func() { waits <- createIn(t.Context(), p, newKey().String()) }()
	await(t, "a place in the queue", func() bool {
		p.store.writeQueue.mu.Lock()
		defer p.store.writeQueue.mu.Unlock()
		return p.store.writeQueue.pending != nil
	})
	killed := time.Now()
	other.kill()
	if err := <-waits; err != nil {
		t.Fatal(err)
	}
	longest := time.Since(killed)
	for round := range 4 {
		other := startPeer(t, "load", path)
		other.send()
		for i := range 40 {
			if i == 20 {
				other.kill()
			}
			begin := time.Now()
			if err := createIn(t.Context(), p, newKey().String()); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			longest = max(longest, time.Since(begin))
		}
	}
	t.Logf("longest commit %v", longest)
	if longest > 10*time.Second { // far more than on a busy machine; a wait for a dead process does not end
		t.Errorf("a commit took %v", longest)
	}
}
