package postgres

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// cachedStep creates an instance whose next commit goes by what its process caches: a task is handed off, whose lease
// has the token.
func cachedStep(t *testing.T, p *Provider) (next provider.CommitTurnRequest, token provider.UUID) {
	t.Helper()
	_, c := step(t, p)
	token = unique()
	c.Tasks = []provider.NewTask{{EventID: 2, Queue: "q", Name: "act", Lease: &provider.TaskLease{Token: token, Owner: "node", Duration: lease}}}
	commit(t, p, c)
	next = provider.CommitTurnRequest{
		Key: c.Key, Execution: 1, Expected: c.Commit, Length: 2, Commit: unique(), Status: provider.StatusRunning,
		Completes: []provider.TaskCompletion{{EventID: 2, Token: token}}, Events: [][]byte{[]byte("completed")},
	}
	if p.cache.heads[c.Key] == nil {
		t.Fatal("the instance is not cached")
	}
	return next, token
}

// The one round trip detects what another process did since, and then the commit is judged by what is stored. There are
// two fences, the transaction that wrote the row and the version. Each detects something that the other does not.
func TestCachedCommitsNoticeOthers(t *testing.T) {
	longtest.Skip(t)
	for _, between := range []struct {
		what   string
		do     func(t *testing.T, p, other *Provider, next provider.CommitTurnRequest, token provider.UUID)
		want   error
		length int64
	}{
		{"a message", func(t *testing.T, _, other *Provider, next provider.CommitTurnRequest, _ provider.UUID) {
			send(t, other, next.Key, text("between"))
		}, nil, 3},
		{"the same turn", func(t *testing.T, _, other *Provider, next provider.CommitTurnRequest, _ provider.UUID) {
			next.Commit = unique()
			commit(t, other, next)
		}, provider.ErrConflict, 3},
		{"a suspension that only the transaction shows", func(t *testing.T, _, other *Provider, next provider.CommitTurnRequest, _ provider.UUID) {
			suspend(t, other, next.Key)
			exec(t, other, `UPDATE perdure.instance SET version = $1 WHERE key = $2`, uuid(next.Expected), uuid(next.Key))
		}, provider.ErrConflict, 2},
		{"a suspension by a transaction whose ID came again", func(t *testing.T, p, other *Provider, next provider.CommitTurnRequest, _ provider.UUID) {
			suspend(t, other, next.Key)
			p.cache.heads[next.Key].xid = uint32(number(t, other, `SELECT xmin::text::bigint FROM perdure.instance WHERE key = $1`, uuid(next.Key)))
		}, provider.ErrConflict, 2},
		{"another holder of the task", func(t *testing.T, _, other *Provider, _ provider.CommitTurnRequest, token provider.UUID) {
			exec(t, other, `UPDATE perdure.task SET token = $1 WHERE token = $2`, uuid(unique()), uuid(token))
		}, provider.ErrLeaseLost, 2},
		{"the end of the instance", func(t *testing.T, _, other *Provider, next provider.CommitTurnRequest, _ provider.UUID) {
			if _, err := other.Delete(t.Context(), provider.DeleteRequest{Key: next.Key, Force: true}); err != nil {
				t.Fatal(err)
			}
		}, provider.ErrConflict, 0},
	} {
		t.Run(between.what, func(t *testing.T) {
			url := postgrestest.URL(t)
			schema := postgrestest.Schema(t, url)
			p, other := opened(t, url, Options{Schema: schema}), opened(t, url, Options{Schema: schema})
			next, token := cachedStep(t, p)
			between.do(t, p, other, next, token)
			if _, err := p.CommitTurn(t.Context(), next); !errors.Is(err, between.want) {
				t.Errorf("the commit returns %v", err)
			}
			if n := number(t, p, `SELECT coalesce(max(history_length), 0) FROM perdure.instance`); n != between.length {
				t.Errorf("the history has %d events, want %d", n, between.length)
			}
			if between.want == nil {
				send(t, p, next.Key, text("after")) // it uses what this process caches of the inbox
			}
			if n := number(t, p, `SELECT coalesce(sum(inbox_messages), 0) - (SELECT count(*) FROM perdure.inbox) FROM perdure.instance`); n != 0 {
				t.Errorf("%d more messages are counted than wait", n)
			}
		})
	}
}

func suspend(t *testing.T, p *Provider, key provider.UUID) {
	t.Helper()
	if _, err := p.Steer(t.Context(), provider.SteerRequest{Key: key, Action: provider.SteerSuspend, Commit: unique()}); err != nil {
		t.Fatal(err)
	}
}

// A clock that was set is detected, too: no time of another clock is stored.
func TestCachedCommitsKeepToTheStoragesClock(t *testing.T) {
	p := store(t)
	next, _ := cachedStep(t, p)
	for _, ahead := range []provider.Time{1e9, -1e9} {
		p.cache.clock.mu.Lock()
		p.cache.clock.sample += ahead
		p.cache.clock.last += ahead
		p.cache.clock.mu.Unlock()
		res := commit(t, p, next)
		next.Expected, next.Length, next.Commit, next.Completes = next.Commit, next.Length+1, unique(), nil
		if now := provider.Time(number(t, p, `SELECT `+sqlNow)); res.Now > now || res.Now < now-1e8 {
			t.Errorf("the commit was at %d, the storage has %d", res.Now, now)
		}
	}
}

// Calls on one instance wait for the group that changes it and share the next one. They may name its key or its ID.
// Calls on others need not wait, and nobody waits for ever.
func TestCallsOnOneInstanceShareGroups(t *testing.T) {
	key, other := unique(), unique()
	q := relational.NewQueue()
	c := newScheduler(q, func(id string) (provider.UUID, bool) { return key, id == "in" })
	submit := func(needs relational.Needs) *relational.Member {
		m := &relational.Member{Needs: needs}
		q.Submit(m, false)
		return m
	}
	take := func(want ...*relational.Member) []*relational.Member {
		t.Helper()
		c.since = time.Time{} // a group that takes so long blocks none
		got, _ := c.take(q)
		if !slices.Equal(got, want) {
			t.Fatalf("a group of %d, want %d", len(got), len(want))
		}
		return got
	}
	byID := submit(relational.Needs{IDs: []string{"in"}})
	first := take(byID)
	byKey := submit(relational.Needs{Keys: []provider.UUID{other, key}})
	beside := submit(relational.Needs{Keys: []provider.UUID{other}})
	c.release(take(beside))
	again := submit(relational.Needs{IDs: []string{"in"}})
	take()
	c.release(first)
	second := take(byKey, again)
	patient := submit(relational.Needs{Keys: []provider.UUID{key}})
	for range maxSkipped {
		take()
	}
	c.release(take(patient))
	c.release(second)
	if len(c.keys) != 0 {
		t.Errorf("%d instances are kept for nobody", len(c.keys))
	}
}

// While a group is in flight, a second one begins if many calls wait or the first takes long.
func TestSecondGroupIsForManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := relational.NewQueue()
		c := newScheduler(q, func(string) (provider.UUID, bool) { return provider.UUID{}, false })
		submit := func(n int) {
			for range n {
				q.Submit(&relational.Member{}, false)
			}
		}
		take := func(want int) []*relational.Member {
			t.Helper()
			got, _ := c.take(q)
			if len(got) != want {
				t.Fatalf("a group of %d, want %d", len(got), want)
			}
			return got
		}
		submit(1)
		first := take(1)
		submit(enough - 1)
		take(0)
		submit(1)
		second := take(enough)
		submit(1)
		take(0)
		c.release(first)
		take(0)              // while the second is in flight
		time.Sleep(patience) //nolint:forbidigo // in a bubble
		third := take(1)
		c.release(second)
		c.release(third)
		submit(1)
		take(1)
	})
}

// Columns that few handed-off tasks use are stored together with tasks that do not use them.
func TestHandOffsKeepWhatTheyHave(t *testing.T) {
	p := store(t)
	_, c := step(t, p)
	handed := func(event int64) provider.NewTask {
		return provider.NewTask{
			EventID: event, Queue: "q", Name: "act", Payload: []byte("in"), Lease: &provider.TaskLease{Token: unique(), Owner: "node", Duration: lease},
		}
	}
	c.Tasks = []provider.NewTask{handed(2), handed(3), handed(4), handed(5), handed(6), handed(7), handed(8)}
	c.Tasks[1].Deadline, c.Tasks[2].StartBy, c.Tasks[3].FairnessKey = time.Hour, time.Hour, "f"
	c.Tasks[4].Session, c.Tasks[5].LimitKey, c.Tasks[6].NotBefore = "s", "l", 2*lease
	commit(t, p, c)
	for event, where := range []string{
		2: `state = 2 AND deliveries = 1 AND attempt = 1 AND owner = 'node' AND fetch_at = lease_until AND lease_until = scheduled_at + 60000000
			AND not_before_at = scheduled_at AND deadline_at + expire_at + rank_at = 0 AND payload = 'in'`,
		3: `deadline_at = scheduled_at + 3600000000 AND expire_at = deadline_at`, 4: `start_by_at = scheduled_at + 3600000000 AND begun`,
		5: `fairness_key = 'f'`, 6: `session = 's'`, 7: `limit_key = 'l'`, 8: `not_before_at = scheduled_at + 120000000 AND fetch_at = not_before_at`,
	} {
		if event > 0 && where != "" && number(t, p, `SELECT count(*) FROM perdure.task WHERE event_id = $1 AND `+where, int64(event)) != 1 {
			t.Errorf("the task of event %d is not stored with %s", event, where)
		}
	}
}

// No statement that is sent for one row has an array left.
func TestSingleRows(t *testing.T) {
	for statement, want := range map[string]string{
		sqlDeleteConsumed: `DELETE FROM perdure.inbox i USING (SELECT $1::uuid AS key, $2::bigint AS id WHERE $1::uuid IS NOT NULL) w WHERE i.key = w.key AND i.id = w.id`,
		`WITH flagged AS (UPDATE t SET a = true WHERE key = ANY($1::uuid[])) INSERT INTO u SELECT * FROM unnest($1::uuid[], $2::text[])`: `WITH flagged AS ` +
			`(UPDATE t SET a = true WHERE key = $1::uuid) INSERT INTO u SELECT * FROM (SELECT $1::uuid AS c0, $2::text AS c1 WHERE $1::uuid IS NOT NULL) w`,
		`SELECT 1 / (CASE WHEN count(*) = cardinality($1::uuid[]) THEN 1 ELSE 0 END)`: `SELECT 1 / (CASE WHEN count(*) = ($1::uuid IS NOT NULL)::int THEN 1 ELSE 0 END)`,
	} {
		if got := singleRow(statement); got != want {
			t.Errorf("%s\nbecame %s", statement, got)
		}
	}
	for _, statement := range []string{
		sqlInstances, sqlBegunInstances, sqlDeadLetterTasks, sqlEndTasks, sqlHistory, sqlHandOffs, sqlTasks, sqlRankedTasks, sqlChangeTasks, sqlMessages, sqlNoTimers,
		sqlDeadLetterInbox, sqlExecutions, sqlCustom, sqlResults, sqlSetAttributes, sqlSetValues, sqlDropValues, sqlBlock, sqlHeads, sqlCachedHeads, sqlCachedPlainTurns, sqlCachedTasks,
	} {
		if got := singleRow(statement); strings.Contains(got, "[") || strings.Contains(got, "unnest") {
			t.Errorf("an array is left in %s", got)
		}
	}
}

func TestRowwise(t *testing.T) {
	for statement, want := range map[string]string{
		`DELETE FROM t USING unnest($1::uuid[]) w (key)`: `DELETE FROM t USING unnest($1::uuid[]) w (key)`,
		`SELECT * FROM unnest($1::uuid[], $2::text[])`:   `SELECT * FROM (SELECT ($1::uuid[])[nth] AS c0, ($2::text[])[nth] AS c1 FROM generate_subscripts($1::uuid[], 1) nth) w`,
		"FROM unnest($2::uuid[],\n\t$1::bigint[])\n\tn (key, id) WHERE": `FROM (SELECT ($2::uuid[])[nth] AS key, ($1::bigint[])[nth] AS id ` +
			`FROM generate_subscripts($2::uuid[], 1) nth) n WHERE`,
	} {
		if got := rowwise(statement); got != want {
			t.Errorf("%s\nbecame %s", statement, got)
		}
	}
}
