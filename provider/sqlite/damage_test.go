package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

// goods is how many sound instances the store has. The damaged one is extra. They fill several pages.
const goods = 120

// big is a payload that can be found in the file. A few fill a page.
func big(what string, n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%s-%03d ", what, n), 60)
}

// damagedStore makes a store, changes its file where it holds the mark, and opens it again. The instance "bad" has pages of its
// own in each table. It returns the key of the instance that is concerned.
func damagedStore(t *testing.T, mark string, harm func(file []byte, at int)) (*Provider, provider.UUID) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	var keys [goods]provider.UUID
	for i := range goods / 2 {
		keys[i] = addInstance(t, p, fmt.Sprintf("good-%03d", i), 1)
	}
	bad := addInstance(t, p, "bad", 60)
	for i := goods / 2; i < goods; i++ {
		keys[i] = addInstance(t, p, fmt.Sprintf("good-%03d", i), 1)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	file := readFile(t, path)
	n, at := leafWith(t, file, mark)
	harm(file, at)
	writeFile(t, path, file)
	if strings.Contains(mark, "good") {
		bad = keys[n]
	}
	return openTest(t, path, Options{Logger: slog.New(slog.DiscardHandler)}), bad
}

// leafWith finds one of the marks, which count from 020, in a leaf of the file's trees. Inner pages concern all that is below
// them.
func leafWith(t *testing.T, file []byte, mark string) (n, at int) {
	t.Helper()
	const leaf = 0x0a // of a table WITHOUT ROWID
	for n = 20; n < 40; n++ {
		at = bytes.Index(file, fmt.Appendf(nil, mark, n))
		if at >= 0 && file[at/pageSize*pageSize] == leaf {
			return n, at
		}
	}
	t.Fatalf("no leaf of the file holds %q", mark)
	return 0, 0
}

var eventNamed = regexp.MustCompile(`events \d+ to \d+: .*column data does not match its checksum`)

const pageSize = 4096

func flipByte(file []byte, at int) { file[at+2] ^= 1 }

// wreckPage overwrites the head of the page.
func wreckPage(file []byte, at int) {
	copy(file[at/pageSize*pageSize:], bytes.Repeat([]byte{0xfe}, 64))
}

// addInstance makes an instance with n waiting messages, n commits of history and n tasks.
func addInstance(t *testing.T, p *Provider, id string, n int) provider.UUID {
	t.Helper()
	res, err := p.Create(t.Context(), provider.CreateRequest{
		ID: id, Key: newKey(), Commit: newToken(), Name: "x", RequestID: "request-of-" + id,
	})
	if err != nil {
		t.Fatal(err)
	}
	req := provider.CommitTurnRequest{
		Key: res.Instance.Key, Execution: 1, Commit: res.Instance.Version, Status: provider.StatusRunning, Consumed: []int64{1},
	}
	for i := range n {
		req.Expected, req.Commit, req.Length = req.Commit, newToken(), int64(i)
		req.Events = [][]byte{big("history-"+id, i)}
		req.Tasks = []provider.NewTask{{EventID: int64(i + 1), Queue: "q", Name: "n", Payload: big("task-"+id, i)}}
		if _, err := p.CommitTurn(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		req.Consumed = nil
		_, err := p.Send(t.Context(), provider.SendRequest{Key: req.Key, Message: provider.NewMessage{Payload: big("inbox-"+id, i)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	return req.Key
}

// fetchGoods fetches all that can be fetched, and counts the good ones.
func fetchGoods(t *testing.T, p *Provider) (turns, tasks int) {
	t.Helper()
	for _, wait := range []time.Duration{time.Minute, 0} {
		req := fetchOf("x", newToken(), wait)
		req.Max = provider.MaxBatch
		res, err := p.FetchTurns(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Turns {
			if strings.HasPrefix(res.Turns[i].Instance.ID, "good") && len(res.Turns[i].Messages) == 1 {
				turns++
			}
		}
	}
	for _, wait := range []time.Duration{time.Minute, 0} {
		req := tasksOf("q", "n", wait)
		req.Max = provider.MaxBatch
		res, err := p.FetchTasks(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for i := range res.Tasks {
			if strings.HasPrefix(res.Tasks[i].InstanceID, "good") {
				tasks++
			}
		}
	}
	return turns, tasks
}

func TestDamageConcernsItsInstanceOnly(t *testing.T) {
	for _, c := range []struct{ mark, says string }{
		{"inbox-bad-%03d", "perdure_inbox"},
		{"task-bad-%03d", "task of execution 1, event "},
	} {
		for name, harm := range map[string]func([]byte, int){"flipped byte": flipByte, "wrecked page": wreckPage} {
			t.Run(c.mark+"/"+name, func(t *testing.T) {
				p, bad := damagedStore(t, c.mark, harm)
				if turns, tasks := fetchGoods(t, p); turns != goods || tasks != goods {
					t.Errorf("fetched %d turns and %d tasks of %d sound instances", turns, tasks, goods)
				}
				got, err := p.Get(t.Context(), provider.GetRequest{Key: bad})
				if err != nil {
					t.Fatal(err)
				}
				b := got.Instance.Blocked
				if b == nil || b.Reason != "corrupt" || !strings.Contains(b.Message, c.says) || b.RetryAt != 0 {
					t.Errorf("blocked %+v: want it held as corrupt, saying %q", b, c.says)
				}
			})
		}
	}
}

func TestDamagedHistoryIsRefused(t *testing.T) {
	for name, harm := range map[string]func([]byte, int){"flipped byte": flipByte, "wrecked page": wreckPage} {
		t.Run(name, func(t *testing.T) {
			p, bad := damagedStore(t, "history-bad-%03d", harm)
			_, err := p.ReadHistory(t.Context(), provider.ReadHistoryRequest{Key: bad, From: 1})
			if e, ok := errors.AsType[*provider.Error](err); !ok || e.Retryable || !damaged(err) {
				t.Errorf("error %v: want one that is not retried", err)
			}
			if name == "flipped byte" && !eventNamed.MatchString(err.Error()) {
				t.Errorf("error %v does not name the event", err)
			}
			if turns, tasks := fetchGoods(t, p); turns != goods || tasks != goods {
				t.Errorf("fetched %d turns and %d tasks of %d sound instances", turns, tasks, goods)
			}
		})
	}
}

// Fetches pass over an instance whose row cannot be read or shown as Blocked.
func TestDamagedInstanceRowsStopNobodyElse(t *testing.T) {
	p, bad := damagedStore(t, "request-of-good-%03d", wreckPage)
	turns, tasks := fetchGoods(t, p)
	if turns < goods*3/4 || tasks < goods*3/4 {
		t.Errorf("fetched %d turns and %d tasks of %d instances, most on other pages", turns, tasks, goods)
	}
	_, err := p.Get(t.Context(), provider.GetRequest{Key: bad})
	if e, ok := errors.AsType[*provider.Error](err); !ok || e.Retryable || !damaged(err) {
		t.Errorf("error %v: want one that is not retried", err)
	}
	_, err = p.Send(t.Context(), provider.SendRequest{Key: bad})
	if e, ok := errors.AsType[*provider.Error](err); !ok || e.Outcome != provider.OutcomeNothing || e.Retryable {
		t.Errorf("error %v: want one that is not retried", err)
	}
	create(t, p, "new", "x")
}

// If one member of a group finds damage, it alone fails, and the others are stored.
func TestHazard17_DamageOfOneMemberLeavesTheOthersAlone(t *testing.T) {
	p, bad := damagedStore(t, "request-of-good-%03d", wreckPage)
	release := hold(t, p)
	errs := make([]chan error, 3)
	for i, key := range []provider.UUID{{}, bad, {}} {
		errs[i] = make(chan error, 1)
		go func() {
			if key.IsZero() {
				errs[i] <- createIn(t.Context(), p, fmt.Sprint("new-", i))
				return
			}
			_, err := p.Send(t.Context(), provider.SendRequest{Key: key})
			errs[i] <- err
		}()
		await(t, "the member", func() bool { return queued(p) == i+1 })
	}
	release()
	if err := <-errs[0]; err != nil {
		t.Error("first:", err)
	}
	if err := <-errs[1]; !damaged(err) {
		t.Error("second:", err)
	}
	if err := <-errs[2]; err != nil {
		t.Error("third:", err)
	}
}

// With a broken index nothing can be fetched, which is logged. Other writes are stored.
func TestDamagedIndexFailsFetchesOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	p := openTest(t, path, Options{})
	startChain(t, p, "first")
	create(t, p, "one", "x")
	root := int64(0)
	err := p.read(t.Context(), "test", func(c *conn) (err error) {
		root, err = c.integer(t.Context(), `SELECT rootpage FROM sqlite_master WHERE name = 'perdure_task_fetch'`)
		return err
	})
	if err := errors.Join(err, p.Close()); err != nil {
		t.Fatal(err)
	}
	file := readFile(t, path)
	wreckPage(file, int(root-1)*pageSize)
	writeFile(t, path, file)
	p = openTest(t, path, Options{Logger: slog.New(slog.DiscardHandler)})
	_, err = p.FetchTasks(t.Context(), tasksOf("default", "charge", time.Minute))
	if e, ok := errors.AsType[*provider.Error](err); !ok || e.Retryable || !damaged(err) {
		t.Errorf("error %v: want one that is not retried", err)
	}
	got := fetchTurns(t.Context(), p, fetchOf("x", newToken(), time.Minute))
	if f := <-got; f.err != nil || len(f.res.Turns) != 1 {
		t.Errorf("the other fetch: %+v", f)
	}
	create(t, p, "two", "x")
}
