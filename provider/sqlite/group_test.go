package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

func create(tb testing.TB, p *Provider, id, name string) provider.Instance {
	tb.Helper()
	res, err := p.Create(tb.Context(), provider.CreateRequest{
		ID: id, Key: newKey(), Commit: newToken(), Name: name, Message: provider.NewMessage{Payload: payload},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return res.Instance
}

// await spins until ok, for conditions in memory that are a few scheduler turns away.
func await(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	for start := time.Now(); !ok(); runtime.Gosched() {
		if time.Since(start) > 20*time.Second {
			tb.Fatal("timed out waiting for", what)
		}
	}
}

func awaitWaiting(tb testing.TB, w *writer, n int) {
	tb.Helper()
	await(tb, "waiting fetches", func() bool {
		w.waiters.mu.Lock()
		defer w.waiters.mu.Unlock()
		tried := 0
		for _, c := range w.waiters.calls {
			if !c.fresh && !c.trying {
				tried++
			}
		}
		return tried == n
	})
}

// hold makes the writer busy until release is called, so that the calls that follow are one group.
func hold(tb testing.TB, p *Provider) (release func()) {
	tb.Helper()
	began, end := make(chan struct{}), make(chan struct{})
	p.store.writer.submit("hold", func(*tx) error {
		close(began)
		<-end
		return nil
	})
	<-began
	return func() { close(end) }
}

func queued(p *Provider) int { return p.store.writer.queue.Len() }

func TestHazard17_OneFailingMemberLeavesTheOthersAlone(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	first := create(t, p, "first", "x")
	before := p.store.writer.commits.Load()
	release := hold(t, p)
	boom := errors.New("boom")
	errs := make([]chan error, 3)
	runs := []func(tx *tx, _ *struct{}) error{
		func(tx *tx, _ *struct{}) error { return insertRecord(tx, "good-1") },
		func(tx *tx, _ *struct{}) error { // fails after it has written rows and changed a head
			if err := insertRecord(tx, "bad"); err != nil {
				return err
			}
			var sent provider.SendResult
			if err := tx.Send(&provider.SendRequest{Key: first.Key, Message: provider.NewMessage{Payload: []byte("lost")}}, &sent); err != nil {
				return err
			}
			return errors.Join(boom, provider.ErrConflict)
		},
		func(tx *tx, _ *struct{}) error { return insertRecord(tx, "good-2") },
	}
	for i, run := range runs {
		errs[i] = make(chan error, 1)
		go func() {
			_, err := write(t.Context(), p.handle, "test", 0, run)
			errs[i] <- err
		}()
		await(t, "the member", func() bool { return queued(p) == i+1 })
	}
	release()
	if err := <-errs[0]; err != nil {
		t.Error("first:", err)
	}
	if err := <-errs[1]; !errors.Is(err, boom) {
		t.Error("second:", err)
	}
	if err := <-errs[2]; err != nil {
		t.Error("third:", err)
	}
	if n := p.store.writer.commits.Load() - before; n != 1 {
		t.Errorf("%d commits: want one for the whole group", n)
	}
	res, err := p.Record(t.Context(), provider.RecordRequest{Action: provider.RecordScan, Namespace: "test"})
	if err != nil || len(res.Records) != 2 || res.Records[0].Key != "good-1" || res.Records[1].Key != "good-2" {
		t.Errorf("records %v, %v: want good-1 and good-2", res.Records, err)
	}
	got, err := p.Get(t.Context(), provider.GetRequest{Key: first.Key})
	if err != nil || got.Instance.InboxMessages != 1 {
		t.Errorf("the inbox has %d messages, %v: the failed member's stayed", got.Instance.InboxMessages, err)
	}
}

func insertRecord(t *tx, key string) error {
	_, err := t.exec(`INSERT INTO perdure_record (namespace, key, version, updated_at, value) VALUES ('test', ?, 1, ?, x'76')
		ON CONFLICT DO UPDATE SET value = excluded.value`, key, t.Now)
	return err
}

func TestHazard17_CancelledMemberLeavesTheQueue(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	release := hold(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	put := func(ctx context.Context, key string) chan error {
		done := make(chan error, 1)
		go func() {
			_, err := p.Record(ctx, provider.RecordRequest{Action: provider.RecordPut, Namespace: "n", Key: key, Value: []byte("v")})
			done <- err
		}()
		return done
	}
	gone := put(ctx, "gone")
	await(t, "the member", func() bool { return queued(p) == 1 })
	stays := put(t.Context(), "stays")
	await(t, "the member", func() bool { return queued(p) == 2 })
	cancel()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if e, ok := errors.AsType[*provider.Error](<-cancelRunning(t, p)); !ok || e.Outcome != provider.OutcomeUnknown {
		t.Error("a member cancelled while it runs must answer that the outcome is unknown")
	}
	release()
	if err := <-stays; err != nil {
		t.Fatal(err)
	}
	res, err := p.Record(t.Context(), provider.RecordRequest{Action: provider.RecordScan, Namespace: "n"})
	if err != nil || len(res.Records) != 1 || res.Records[0].Key != "stays" {
		t.Errorf("records %v, %v: want only the one that stayed", res.Records, err)
	}
}

// cancelRunning cancels a member while the writer of another store runs it.
func cancelRunning(t *testing.T, _ *Provider) chan error {
	t.Helper()
	p := openTest(t, filepath.Join(t.TempDir(), "other.db"), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	began, end, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		m := &relational.Member{Op: "test", Exclusive: true} // its caller does not run it
		_, err := relational.Do(ctx, p.enqueue, m, false, func(*relational.Tx, *struct{}) error {
			close(began)
			<-end
			return nil
		})
		done <- err
	}()
	<-began
	cancel()
	err := <-done
	close(end)
	done <- err
	return done
}

func TestStorageErrorGoesToEveryMemberAndTheWriterRecovers(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{})
	limit := func(sql string) {
		t.Helper()
		_, err := write(t.Context(), p.handle, "limit", 0, func(t *tx, _ *struct{}) error {
			_, err := t.integer(sql)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	limit(`PRAGMA max_page_count = 1`) // SQLite raises it to the present size: the disk is full
	big := make([]byte, 1<<20)
	release := hold(t, p)
	errs := make(chan error, 4)
	for i := range 4 {
		go func() {
			_, err := p.Record(t.Context(), provider.RecordRequest{Action: provider.RecordPut, Namespace: "n", Key: strconv.Itoa(i), Value: big})
			errs <- err
		}()
		await(t, "the member", func() bool { return queued(p) == i+1 })
	}
	release()
	for range 4 {
		e, ok := errors.AsType[*provider.Error](<-errs)
		if !ok || e.Outcome != provider.OutcomeNothing || !e.Retryable {
			t.Errorf("error %v: want one that says nothing happened and may be retried", e)
		}
	}
	limit(`PRAGMA max_page_count = 1000000`)
	for i := range 4 {
		_, err := p.Record(t.Context(), provider.RecordRequest{Action: provider.RecordPut, Namespace: "n", Key: strconv.Itoa(i), Value: big})
		if err != nil {
			t.Errorf("there is room again: %v", err)
		}
	}
}
