package sqlite

import (
	"bufio"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// A peer is another process on the same store that does one thing for each line that it is sent.
type peer struct {
	tb    testing.TB
	cmd   *exec.Cmd
	lines *bufio.Scanner
	send  func()
}

// startPeer runs a child and waits until it has the store open.
func startPeer(tb testing.TB, what, path string) *peer {
	tb.Helper()
	cmd, stdin, lines := startChild(tb, what, path)
	p := &peer{tb: tb, cmd: cmd, lines: lines, send: func() {
		tb.Helper()
		if _, err := stdin.Write([]byte("\n")); err != nil {
			tb.Fatal(err)
		}
	}}
	tb.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait() // a test that cares has waited
	})
	p.receive("ready")
	return p
}

// receive returns the number that the peer prints with a word.
func (p *peer) receive(word string) int64 {
	p.tb.Helper()
	if !p.lines.Scan() {
		p.tb.Fatalf("the peer has ended: want %q of it", word)
	}
	said, number, _ := strings.Cut(p.lines.Text(), " ")
	n, err := strconv.ParseInt(number, 10, 64)
	if said != word || err != nil {
		p.tb.Fatalf("the peer said %q: want %q", p.lines.Text(), word)
	}
	return n
}

// kill ends the peer as kill -9 does.
func (p *peer) kill() {
	p.tb.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		p.tb.Fatal(err)
	}
	if err := p.cmd.Wait(); err == nil {
		p.tb.Fatal("the peer was not killed")
	}
}

// load writes back to back from several goroutines until the time is over, and counts.
func load(ctx context.Context, p *Provider, name string, goroutines int) (int64, error) {
	var n atomic.Int64
	var wg sync.WaitGroup
	errs := make(chan error, goroutines)
	end := time.Now().Add(loadFor)
	for g := range goroutines {
		wg.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				if err := createIn(ctx, p, fmt.Sprint(name, "-", g, "-", i)); err != nil {
					errs <- err
					return
				}
				n.Add(1)
			}
		})
	}
	wg.Wait()
	select {
	case err := <-errs:
		return 0, err
	default:
		return n.Load(), nil
	}
}

const loadFor = 2 * time.Second

func TestHazard18_TwoBusyWritersShareTheFileFairly(t *testing.T) {
	inSomeRound(t, func() error {
		path := filepath.Join(t.TempDir(), "store.db")
		p := openTest(t, path, Options{})
		other := startPeer(t, "load", path)
		other.send()
		mine, err := load(t.Context(), p, "parent", 8)
		if err != nil {
			t.Fatal("this process:", err)
		}
		theirs := other.receive("wrote")
		t.Logf("%d here, %d there", mine, theirs)
		if mine*10 < theirs*7 || theirs*10 < mine*7 {
			return fmt.Errorf("%d commits here, %d there: want shares within 30 %%", mine, theirs)
		}
		return nil
	})
}

// inSomeRound demands that one of several rounds succeeds. A busy machine spoils a round now and then. A fault spoils all.
func inSomeRound(t *testing.T, round func() error) {
	t.Helper()
	var err error
	for range 5 {
		if err = round(); err == nil {
			return
		}
		t.Logf("another round: %v", err)
	}
	t.Error(err)
}

// Small commits of one process take turns with the groups of another, whatever the speed of the machine.
func TestHazard18_SmallCommitsPassBesideGroupCommits(t *testing.T) {
	const callers = 64
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	other := startPeer(t, "small", path)
	other.send()
	mine, err := load(t.Context(), p, "parent", callers)
	if err != nil {
		t.Fatal(err)
	}
	n, p50, p99 := other.receive("commits"), micro(other.receive("p50")), micro(other.receive("p99"))
	groups := mine / callers // at least
	t.Logf("%d small commits beside %d groups or more: p50 %v, p99 %v", n, groups, p50, p99)
	if n == 0 || n < groups/10 {
		t.Errorf("%d small commits beside %d groups or more, want one for ten of them", n, groups)
	}
}

func micro(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// percentile returns the p-th percentile.
func percentile(list []time.Duration, p int) time.Duration {
	slices.Sort(list)
	return list[min(len(list)*p/100, len(list)-1)]
}

// smallCommits makes one-row commits one after the other and reports how long they took.
func smallCommits(ctx context.Context, p *Provider) error {
	var took []time.Duration
	for end := time.Now().Add(loadFor); time.Now().Before(end); {
		begin := time.Now()
		_, err := p.Record(ctx, provider.RecordRequest{
			Action: provider.RecordPut, Namespace: "small", Key: "k", Value: []byte("v"), Expect: int64(len(took)),
		})
		if err != nil {
			return err
		}
		took = append(took, time.Since(begin))
	}
	say("commits", len(took))
	say("p50", int(percentile(took, 50).Microseconds()))
	say("p99", int(percentile(took, 99).Microseconds()))
	return nil
}

// idle makes the writer forget that it has just seen another process write, and with alone
// that it has seen another process at all.
func idle(tb testing.TB, p *Provider, alone bool) {
	tb.Helper()
	_, err := write(tb.Context(), p.handle, "idle", 0, func(_ *tx, _ *struct{}) error {
		p.store.writer.others.seenAt = time.Time{}
		if alone {
			p.store.writer.others.alone = true
			p.store.writer.others.livenessAt = time.Now().Add(time.Minute)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// awaitWatching waits until the writer relies on the kernel to report the next write.
func awaitWatching(tb testing.TB, p *Provider) {
	tb.Helper()
	w := p.store.writer
	await(tb, "a writer that relies on the kernel", func() bool {
		w.lock.Lock()
		defer w.lock.Unlock()
		return w.others.logWatcher.isArmed() && w.others.idleSinceArmed
	})
}

// dropWatcher makes the writer poll for commits of other processes itself, as it does where the kernel does not report writes.
func dropWatcher(tb testing.TB, p *Provider) {
	tb.Helper()
	w := p.store.writer
	w.lock.Lock()
	defer w.lock.Unlock()
	if err := w.others.logWatcher.close(); err != nil {
		tb.Fatal(err)
	}
	w.others.logWatcher = nil
}

// wakes measures from when the peer begins to write to when a waiting fetch here has it.
func wakes(tb testing.TB, p *Provider, other *peer, n int, alone bool) []time.Duration {
	tb.Helper()
	took := make([]time.Duration, 0, n)
	for range n {
		got := fetchTurns(tb.Context(), p, fetchOf("x", newToken(), time.Minute))
		awaitWaiting(tb, p.store.writer, 1)
		idle(tb, p, alone)
		if p.store.writer.others.logWatcher != nil {
			awaitWatching(tb, p)
		}
		other.send()
		f := <-got
		took = append(took, time.Since(time.UnixMicro(other.receive("began"))))
		if f.err != nil || len(f.res.Turns) != 1 {
			tb.Fatalf("fetched %+v", f)
		}
	}
	return took
}

func TestHazard38_IdleProcessesWakeEachOther(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	dropWatcher(t, p)
	stays := startPeer(t, "one", path)
	inSomeRound(t, func() error {
		took := wakes(t, p, stays, 20, false)
		t.Logf("a process that stays: p50 %v, p95 %v", percentile(took, 50), percentile(took, 95))
		if p50 := percentile(took, 50); p50 > 200*time.Millisecond { // ten times the promised value
			return fmt.Errorf("p50 %v: want 20ms on a quiet machine", p50)
		}
		return nil
	})
}

// An instance that a short command starts does not wait for the slow poll of a process that believes itself alone.
func TestHazard38_ProcessThatJustCameWakesALoneOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	dropWatcher(t, p)
	comes := startPeer(t, "one", path)
	inSomeRound(t, func() error {
		took := wakes(t, p, comes, 20, true)
		t.Logf("a process that just came: p50 %v, p95 %v", percentile(took, 50), percentile(took, 95))
		if p50 := percentile(took, 50); p50 > 100*time.Millisecond { // the slow poll alone would take 125ms
			return fmt.Errorf("p50 %v: want 20ms on a quiet machine", p50)
		}
		return nil
	})
}
