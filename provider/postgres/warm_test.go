package postgres

import (
	"errors"
	"slices"
	"testing"

	"github.com/perdure/perdure/internal/postgrestest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// warmed makes an instance whose next commit goes by what its process remembers: a task is handed off, whose lease has the token.
func warmed(t *testing.T, p *Provider) (next provider.CommitTurnRequest, token provider.UUID) {
	t.Helper()
	_, c := step(t, p)
	token = unique()
	c.Tasks = []provider.NewTask{{EventID: 2, Queue: "q", Name: "act", Lease: &provider.TaskLease{Token: token, Owner: "node", Duration: lease}}}
	commit(t, p, c)
	next = provider.CommitTurnRequest{
		Key: c.Key, Execution: 1, Expected: c.Commit, Length: 2, Commit: unique(), Status: provider.StatusRunning,
		Completes: []provider.TaskCompletion{{EventID: 2, Token: token}}, Events: [][]byte{[]byte("completed")},
	}
	if p.warm.heads[c.Key] == nil {
		t.Fatal("the instance is not remembered")
	}
	return next, token
}

// What another process did since is noticed in the one round trip, and then the commit is judged by what is stored.
func TestWarmCommitsNoticeOthers(t *testing.T) {
	for _, between := range []struct {
		what   string
		do     func(t *testing.T, other *Provider, next provider.CommitTurnRequest, token provider.UUID)
		want   error
		length int64
	}{
		{"a message", func(t *testing.T, other *Provider, next provider.CommitTurnRequest, _ provider.UUID) {
			send(t, other, next.Key, text("between"))
		}, nil, 3},
		{"the same turn", func(t *testing.T, other *Provider, next provider.CommitTurnRequest, _ provider.UUID) {
			next.Commit = unique()
			commit(t, other, next)
		}, provider.ErrConflict, 3},
		{"another holder of the task", func(t *testing.T, other *Provider, _ provider.CommitTurnRequest, token provider.UUID) {
			exec(t, other, `UPDATE perdure.task SET token = $1 WHERE token = $2`, uuid(unique()), uuid(token))
		}, provider.ErrLeaseLost, 2},
		{"the end of the instance", func(t *testing.T, other *Provider, next provider.CommitTurnRequest, _ provider.UUID) {
			if _, err := other.Delete(t.Context(), provider.DeleteRequest{Key: next.Key, Force: true}); err != nil {
				t.Fatal(err)
			}
		}, provider.ErrConflict, 0},
	} {
		t.Run(between.what, func(t *testing.T) {
			url := postgrestest.URL(t)
			schema := postgrestest.Schema(t, url)
			p, other := opened(t, url, Options{Schema: schema}), opened(t, url, Options{Schema: schema})
			next, token := warmed(t, p)
			between.do(t, other, next, token)
			if _, err := p.CommitTurn(t.Context(), next); !errors.Is(err, between.want) {
				t.Errorf("the commit answers %v", err)
			}
			if n := number(t, p, `SELECT coalesce(max(history_length), 0) FROM perdure.instance`); n != between.length {
				t.Errorf("the history has %d events, want %d", n, between.length)
			}
			if n := number(t, p, `SELECT coalesce(sum(inbox_messages), 0) - (SELECT count(*) FROM perdure.inbox) FROM perdure.instance`); n != 0 {
				t.Errorf("%d more messages are counted than wait", n)
			}
		})
	}
}

// A clock that was set is noticed, too: no moment of another one is stored.
func TestWarmCommitsKeepToTheStoragesClock(t *testing.T) {
	p := store(t)
	next, _ := warmed(t, p)
	for _, ahead := range []provider.Time{1e9, -1e9} {
		p.warm.clock.mu.Lock()
		p.warm.clock.said += ahead
		p.warm.clock.last += ahead
		p.warm.clock.mu.Unlock()
		res := commit(t, p, next)
		next.Expected, next.Length, next.Commit, next.Completes = next.Commit, next.Length+1, unique(), nil
		if now := provider.Time(number(t, p, `SELECT `+sqlNow)); res.Now > now || res.Now < now-1e8 {
			t.Errorf("the commit was at %d, the storage has %d", res.Now, now)
		}
	}
}

// Calls on one instance wait for the group that changes it and go together with the next one, whether they name its key or its ID. Calls on
// others need not wait, and nobody waits for ever.
func TestCallsOnOneInstanceShareGroups(t *testing.T) {
	key, other := unique(), unique()
	q := relational.NewQueue()
	c := newCrowd(q, func(id string) (provider.UUID, bool) { return key, id == "in" })
	submit := func(needs relational.Needs) *relational.Member {
		m := &relational.Member{Needs: needs}
		q.Submit(m, false)
		return m
	}
	take := func(want ...*relational.Member) []*relational.Member {
		t.Helper()
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
	c.leave(take(beside))
	again := submit(relational.Needs{IDs: []string{"in"}})
	take()
	c.leave(first)
	second := take(byKey, again)
	patient := submit(relational.Needs{Keys: []provider.UUID{key}})
	for range maxPassed {
		take()
	}
	c.leave(take(patient))
	c.leave(second)
	if len(c.keys) != 0 {
		t.Errorf("%d instances are kept for nobody", len(c.keys))
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
