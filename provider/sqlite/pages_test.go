package sqlite

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"
	"unsafe"

	lib "modernc.org/sqlite/lib"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/racedetector"
	"github.com/perdure/perdure/provider"
)

// pages returns how many pages the writer has read since the store was opened, from its cache or from the file.
func pages(t *testing.T, p *Provider) int64 {
	t.Helper()
	total, err := write(t.Context(), p.handle, "pages", 0, func(t *tx, total *int64) (err error) {
		*total, err = pagesOf(p.store.writer.conn)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

// pagesOf is pages within a transaction.
func pagesOf(c *conn) (total int64, err error) {
	raw := reflect.ValueOf(c.raw).Elem() // the driver does not report it; SQLite does
	tls := raw.FieldByName("tls")
	tls = reflect.NewAt(tls.Type(), unsafe.Pointer(tls.UnsafeAddr())).Elem()
	for _, what := range []int32{lib.SQLITE_DBSTATUS_CACHE_HIT, lib.SQLITE_DBSTATUS_CACHE_MISS} {
		var now, most int32
		answer := reflect.ValueOf(lib.Xsqlite3_db_status).Call([]reflect.Value{
			tls, reflect.ValueOf(uintptr(raw.FieldByName("db").Uint())), reflect.ValueOf(what),
			reflect.ValueOf(uintptr(unsafe.Pointer(&now))), reflect.ValueOf(uintptr(unsafe.Pointer(&most))), reflect.ValueOf(int32(0)),
		})
		if code := answer[0].Int(); code != lib.SQLITE_OK {
			return 0, fmt.Errorf("SQLite does not report how many pages it read: %d", code)
		}
		total += int64(now)
	}
	return total, nil
}

// fewestPages returns how many pages each call of a kind reads. Concurrent work can only add to it, so the lowest of several counts.
func fewestPages(t *testing.T, p *Provider, call func() error) int64 {
	t.Helper()
	fewest := int64(1 << 30)
	for range 5 {
		before := pages(t, p)
		if err := call(); err != nil {
			t.Fatal(err)
		}
		fewest = min(fewest, pages(t, p)-before)
	}
	return fewest
}

// ofCalls returns what the calls of a busy node read, and what a fetch reads that finds nothing.
func ofCalls(t *testing.T, p *Provider, id string) map[string]int64 {
	t.Helper()
	c := startChain(t, p, id)
	in := create(t, p, id+"-receiver", "nobody")
	found := map[string]int64{}
	n := 0
	found["create"] = fewestPages(t, p, func() error {
		n++
		create(t, p, fmt.Sprint(id, n), "nobody")
		return nil
	})
	found["send"] = fewestPages(t, p, func() error {
		_, err := p.Send(t.Context(), provider.SendRequest{Key: in.Key, Message: provider.NewMessage{Payload: payload}})
		return err
	})
	found["hand-off step"] = fewestPages(t, p, func() error { return c.step(t) })
	found["fetch of one turn"] = fewestPages(t, p, func() error {
		n++
		name := fmt.Sprint(id, n)
		create(t, p, name, "somebody")
		return fetchExactly(t.Context(), p, "somebody", 1, 1)
	})
	found["fetch of no turn"] = fewestPages(t, p, func() error { return fetchExactly(t.Context(), p, "somebody", 1, 0) })
	found["fetch of no task"] = fewestPages(t, p, func() error {
		_, err := p.FetchTasks(t.Context(), tasksOf("default", "charge", 0))
		return err
	})
	return found
}

// fetchExactly fetches turns and checks how many came.
func fetchExactly(ctx context.Context, p *Provider, name string, most, want int) error {
	req := fetchOf(name, newToken(), 0)
	req.Max = most
	res, err := p.FetchTurns(ctx, req)
	if err == nil && len(res.Turns) != want {
		err = fmt.Errorf("fetched %d turns, want %d", len(res.Turns), want)
	}
	return err
}

// insert stores n rows of a table, numbered ?1 to n; the text gives columns and values.
func insert(t *testing.T, p *Provider, n int, into string, args ...any) {
	t.Helper()
	corrupt(t, p, fmt.Sprintf(`INSERT INTO %s FROM (WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < %d) SELECT n FROM s)`, into, n), args...)
}

var finishedInstances = flag.Int("flat.finished", 200_000, "how many finished instances lie beside the work")

// Finished instances may deepen the trees that calls descend, by a level or two. They are not read. Their keys precede those of
// the others, as they do when they are older.
func TestFlatBesideFinishedInstances(t *testing.T) {
	longtest.Skip(t)
	if racedetector.On {
		t.Skip("a minute under the race detector; make test-long runs it without")
	}
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{Synchronous: Off})
	few := ofCalls(t, p, "few")
	c := startChain(t, p, "finished")
	if err := c.end(t); err != nil {
		t.Fatal(err)
	}
	insert(t, p, *finishedInstances, `perdure_instance (key, id, kind, status, execution, version, history_length, created_at, updated_at, ended_at)
		SELECT unhex(printf('%032x', n)), printf('done-%d', n), (SELECT kind FROM perdure_instance WHERE key = ?1),
		(SELECT status FROM perdure_instance WHERE key = ?1), 1, CAST(printf('%016d', n) AS BLOB), 12, n, n, n`, c.key)
	many := ofCalls(t, p, "many")
	for call, n := range few {
		t.Logf("%s: %d pages alone, %d beside %d finished instances", call, n, many[call], *finishedInstances)
		if most := 3*n + 10; many[call] > most {
			t.Errorf("%s reads %d pages, want at most %d", call, many[call], most)
		}
	}
}

// Among a hundred thousand instances with a due timer, each fetch takes its batch and reads no more.
func TestFlatTimersDueAtOnce(t *testing.T) {
	longtest.Skip(t)
	if racedetector.On {
		t.Skip("long under the race detector; make test-long runs it without")
	}
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{Synchronous: Off})
	const batch = 64
	size := func(name string, n int) int64 {
		in := create(t, p, name, name)
		insert(t, p, n, `perdure_instance (key, id, kind, status, execution, version, created_at, updated_at, ready_at, fetch_at, inbox_messages, next_message)
			SELECT CAST(printf(?2 || '%015d', n) AS BLOB), printf(?2 || '-%d', n), (SELECT kind FROM perdure_instance WHERE key = ?1), 1, 1,
			CAST(printf('%016d', n) AS BLOB), n, n, n, n, 1, 2`, in.Key, name)
		insert(t, p, n, `perdure_inbox (key, visible_at, id, kind, timer, execution, event_id)
			SELECT CAST(printf(?1 || '%015d', n) AS BLOB), n, 1, 3, 1, 1, 2`, name)
		var all []int64
		for range 3 {
			all = append(all, fewestPages(t, p, func() error { return fetchExactly(t.Context(), p, name, batch, batch) }))
		}
		t.Logf("%d due: %d pages for %d of them", n, all, batch)
		return all[len(all)-1]
	}
	few := size("f", 2_000)
	if many := size("m", 100_000); many > 2*few {
		t.Errorf("a fetch of %d reads %d pages among 100,000, at %d among 2,000", batch, many, few)
	}
}

// A node that serves a quiet queue gets its task at once, however much waits in another.
func TestFlatQuietQueueBesideAFlood(t *testing.T) {
	longtest.Skip(t)
	if racedetector.On {
		t.Skip("long under the race detector; make test-long runs it without")
	}
	p := openTest(t, filepath.Join(t.TempDir(), "store.db"), Options{Synchronous: Off})
	commitTasks(t, p, provider.NewTask{EventID: 1, Queue: "flood", Name: "n"})
	measure := func() int64 {
		return fewestPages(t, p, func() error {
			commitTasks(t, p, provider.NewTask{EventID: 1, Queue: "quiet", Name: "n"})
			began := time.Now()
			res, err := p.FetchTasks(t.Context(), tasksOf("quiet", "n", time.Minute))
			if err == nil && (len(res.Tasks) != 1 || time.Since(began) > 30*time.Second) {
				err = fmt.Errorf("%d tasks after %v", len(res.Tasks), time.Since(began))
			}
			return err
		})
	}
	few := measure()
	insert(t, p, 200_000, `perdure_task (key, execution, event_id, kind, state, scheduled_at, not_before_at, fetch_at)
		SELECT unhex(printf('%032x', n)), 1, 1, (SELECT id FROM perdure_task_kind WHERE queue = 'flood'), 1, n, n, n`)
	many := measure()
	t.Logf("%d pages alone, %d beside a flood", few, many)
	if most := 2*few + 10; many > most {
		t.Errorf("a task of the quiet queue costs %d pages beside a flood, want at most %d", many, most)
	}
}
