package fileprovider

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/provider"
)

// slowDisk is a disk whose syncs wait for the test. Synced data survives a power loss.
type slowDisk struct {
	mu       sync.Mutex
	cache    bytes.Buffer
	platter  []byte
	syncs    int
	let      chan struct{} // one value per sync; closed: all syncs may proceed
	failWith error
}

func (d *slowDisk) Write(b []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cache.Write(b)
}

func (d *slowDisk) Sync() error {
	<-d.let
	d.mu.Lock()
	defer d.mu.Unlock()
	d.syncs++
	if d.failWith != nil {
		return d.failWith
	}
	d.platter = bytes.Clone(d.cache.Bytes())
	return nil
}

// onDisk opens a store whose journal is on the test's disk.
func onDisk(t *testing.T, d *slowDisk) *Provider {
	t.Helper()
	p := open(t, newFile(t))
	p.journal = newJournal(d, 0)
	return p
}

// powerLoss opens the store that a power loss would leave.
func powerLoss(t *testing.T, platter []byte) *Provider {
	t.Helper()
	path := newFile(t)
	if err := os.WriteFile(path, append([]byte(header), platter...), 0o600); err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

// No call returns before the data that its result depends on is on disk. That applies to a write, to a read of it, to a
// refusal because of it, and to a parked fetch that it woke. Waiting callers share one sync.
func TestNoAnswerBeforeTheSync(t *testing.T) {
	const many = 50
	synctest.Test(t, func(t *testing.T) {
		d := &slowDisk{let: make(chan struct{})}
		p := onDisk(t, d)
		began := time.Now()
		answered := make(chan string, many+4)
		call := func(name string, fn func() error) {
			go func() {
				if err := fn(); err != nil && !errors.Is(err, provider.ErrExists) {
					name = fmt.Sprint(name, ": ", err)
				}
				answered <- name
			}()
			synctest.Wait()
		}
		call("parked", func() error {
			_, err := p.FetchTurns(t.Context(), provider.FetchTurnsRequest{
				Owner: "o", Token: provider.UUID{9}, Lease: time.Hour, Capabilities: []provider.Capability{{Name: "n"}}, Max: 1, Wait: time.Minute,
			})
			return err
		})
		call("creates", func() error { _, err := p.Create(t.Context(), createRequest(0)); return err })
		call("reads", func() error { _, err := p.Get(t.Context(), provider.GetRequest{ID: "i-0"}); return err })
		call("refused", func() error { _, err := p.Create(t.Context(), createRequest(0)); return err })
		for range many {
			call("sends", func() error { _, err := p.Send(t.Context(), sendRequest(0, "m")); return err })
		}
		if len(answered) > 0 {
			t.Errorf("%s: returned before the sync", <-answered)
		}
		d.let <- struct{}{} // the sync of the create; the fetch that it woke may ride along
		synctest.Wait()
		early := len(answered)
		for range early {
			if got := <-answered; got == "sends" {
				t.Error("a send returned after the sync before its own")
			}
		}
		if early == 0 {
			t.Error("the create did not return after its sync")
		}
		close(d.let)
		for range many + 4 - early {
			if got := <-answered; strings.Contains(got, ":") {
				t.Error(got)
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("the parked fetch was woken by time, after %v", took)
		}
		if d.syncs > 3 {
			t.Errorf("%d syncs for %d calls", d.syncs, many+2)
		}
		again := powerLoss(t, d.platter)
		if res, err := again.Get(t.Context(), provider.GetRequest{ID: "i-0"}); err != nil || res.Instance.InboxMessages != many+1 || res.Instance.Deliveries != 1 {
			t.Errorf("after the power loss: %+v, %v", res.Instance, err)
		}
	})
}

// After a failed sync the content of the disk is unknown. Calls that wait return an unknown outcome. Later writes
// return that nothing happened, and reads fail. Opening the file again shows the outcome.
func TestFailedSync(t *testing.T) {
	d := &slowDisk{let: make(chan struct{}), failWith: errors.New("input/output error")}
	p := onDisk(t, d)
	errs := make(chan error, 2)
	for n := range 2 { // the second one gathers during the first one's sync, or rides along
		go func() {
			_, err := p.Create(t.Context(), createRequest(n))
			errs <- err
		}()
	}
	for gathered := int64(0); gathered < 2; runtime.Gosched() {
		p.journal.mu.Lock()
		gathered = p.journal.number
		p.journal.mu.Unlock()
	}
	close(d.let)
	for range 2 {
		if err := <-errs; provider.OutcomeOf(err) != provider.OutcomeUnknown || !provider.Retryable(err) || !errors.Is(err, d.failWith) {
			t.Errorf("waiting call: %v", err)
		}
	}
	d.failWith = nil // a disk may report success now
	_, err := p.Create(t.Context(), createRequest(2))
	if provider.OutcomeOf(err) != provider.OutcomeNothing || !provider.Retryable(err) {
		t.Errorf("later write: %v", err)
	}
	if _, err := p.Get(t.Context(), provider.GetRequest{ID: "i-0"}); provider.OutcomeOf(err) != provider.OutcomeNothing || errors.Is(err, provider.ErrNotFound) {
		t.Errorf("read: %v", err)
	}
	if d.syncs != 1 {
		t.Errorf("%d syncs, want none after the one that failed", d.syncs)
	}
}

// written makes a journal of one create and some sends, each with its own sync, and returns its lines.
func written(t *testing.T, sends int) (lines [][]byte) {
	t.Helper()
	path := newFile(t)
	p := open(t, path)
	if _, err := p.Create(t.Context(), createRequest(0)); err != nil {
		t.Fatal(err)
	}
	for n := range sends {
		if _, err := p.Send(t.Context(), sendRequest(0, fmt.Sprint("m-", n))); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(bytes.TrimPrefix(data, []byte(header)), []byte("\n"))[:sends+1]
}

// A partly written last record is cut off, and records after the cut can be read.
func TestTornTailIsCutOff(t *testing.T) {
	lines := written(t, 3)
	whole, last := bytes.Join(lines[:3], nil), lines[3]
	for kept := range last {
		tail := append(bytes.Clone(last[:kept]), make([]byte, kept%2*100)...) // some disks leave zeros
		p := powerLoss(t, append(bytes.Clone(whole), tail...))
		if _, err := p.Send(t.Context(), sendRequest(0, "after")); err != nil {
			t.Fatal(err)
		}
		path := p.file.Name()
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		again := open(t, path)
		res, err := again.Get(t.Context(), provider.GetRequest{ID: "i-0"})
		if err != nil || res.Instance.InboxMessages != 4 {
			t.Fatalf("%d bytes of the last record: %d messages, %v, want 4", kept, res.Instance.InboxMessages, err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// An unreadable record that was on disk is not a torn tail: nothing is cut, and the store does not open.
func TestDamageIsNotCutOff(t *testing.T) {
	lines := written(t, 4)
	for n, line := range lines[:3] {
		for _, at := range []int{0, 8, 20, len(line) / 2, len(line) - 1} {
			damaged := bytes.Join(lines, nil)
			damaged[len(bytes.Join(lines[:n], nil))+at] ^= 1
			path := newFile(t)
			if err := os.WriteFile(path, append([]byte(header), damaged...), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(t.Context(), path); !errors.Is(err, ErrDamaged) {
				t.Errorf("byte %d of record %d: %v, want ErrDamaged", at, n+1, err)
			}
			if after, err := os.ReadFile(path); err != nil || len(after) != len(header)+len(damaged) {
				t.Errorf("the file has %d bytes, %v: want it unchanged", len(after), err)
			}
		}
	}
}

// A crash may leave later records of a group on disk without an earlier one.
func TestTornGroupIsCutOff(t *testing.T) {
	lines := written(t, 1)
	var group []byte
	for n := range 3 {
		r, ok := decode(lines[1])
		if !ok {
			t.Fatal("cannot decode")
		}
		r.Number, r.Synced = int64(2+n), 1
		line, err := encode(r)
		if err != nil {
			t.Fatal(err)
		}
		if n == 1 {
			line[20] ^= 1
		}
		group = append(group, line...)
	}
	p := powerLoss(t, append(bytes.Clone(lines[0]), group...))
	if res, err := p.Get(t.Context(), provider.GetRequest{ID: "i-0"}); err != nil || res.Instance.InboxMessages != 2 {
		t.Errorf("%d messages, %v, want the start and the first of the group", res.Instance.InboxMessages, err)
	}
	if _, err := p.Send(t.Context(), sendRequest(0, "m-0")); err != nil { // a record as long as the unreadable one
		t.Fatal(err)
	}
	path := p.file.Name()
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if res, err := open(t, path).Get(t.Context(), provider.GetRequest{ID: "i-0"}); err != nil || res.Instance.InboxMessages != 3 {
		t.Errorf("%d messages, %v, want 3", res.Instance.InboxMessages, err)
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	for name, content := range map[string]string{"other": "SQLite format 3\x00 and more than a header", "short": "hello", "record missing": ""} {
		path, want := newFile(t), provider.ErrNotStore
		if name == "record missing" {
			lines := written(t, 3)
			content, want = header+string(lines[0])+string(lines[2]), ErrDamaged
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(t.Context(), path); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", name, err, want)
		}
	}
	half := newFile(t)
	if err := os.WriteFile(half, []byte(header[:7]), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, half) // the machine crashed in the first write
}

// Time continues from the last record, whatever the wall clock says. Text that JSON cannot represent is unchanged.
func TestReopenedStoreGoesOn(t *testing.T) {
	path := newFile(t)
	p := open(t, path)
	p.clock.base = time.Now().Add(24 * time.Hour) // the wall clock was a day ahead and was then corrected
	created, err := p.Create(t.Context(), createRequest(0))
	if err != nil {
		t.Fatal(err)
	}
	token := provider.UUID{3}
	if _, err := p.FetchTurns(t.Context(), provider.FetchTurnsRequest{
		Owner: "o", Token: token, Lease: time.Hour, Capabilities: []provider.Capability{{Name: "n"}}, Max: 1,
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := p.ReleaseTurns(t.Context(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{
		{Key: provider.UUID{1}, Token: token, Kind: provider.ReleaseFailed, Failure: &provider.TurnFailure{Reason: "panic", Message: "bad \xff text", Hold: true}},
	}}); err != nil {
		t.Fatal(err)
	}
	before, err := p.Get(t.Context(), provider.GetRequest{ID: "i-0"})
	if err := errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
	p = open(t, path)
	after, err := p.Get(t.Context(), provider.GetRequest{ID: "i-0", WaitEnded: true, Wait: 20 * time.Millisecond})
	if err != nil || after.Now < created.Now.Add(20*time.Millisecond) {
		t.Errorf("%v: it is %v, and was %v before", err, after.Now.Std(), created.Now.Std())
	}
	if after.Instance.Blocked == nil || *after.Instance.Blocked != *before.Instance.Blocked {
		t.Errorf("blocked %+v, was %+v before", after.Instance.Blocked, before.Instance.Blocked)
	}
	stats, err := p.Stats(t.Context(), provider.StatsRequest{})
	if err != nil || stats.Instances[provider.StatusRunning] != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
}
