package postgres

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
)

// fetchCached fetches while fn makes an instance ready, and fails if the claim takes a statement.
func fetchCached(t *testing.T, p *Provider, fn func()) provider.Turn {
	t.Helper()
	got := fetchLater(t, p)
	p.waiters.mu.Lock()
	for call := range p.waiters.waiting {
		call.piggyback.queue = func(*pgx.Batch) { t.Error("the claim asks the database") }
	}
	p.waiters.mu.Unlock()
	fn()
	turns := <-got
	if len(turns) != 1 {
		t.Fatalf("fetched %+v", turns)
	}
	return turns[0]
}

// consuming returns the commit of a fetched turn.
func consuming(t *testing.T, p *Provider, fetched *provider.Turn) provider.CommitTurnRequest {
	t.Helper()
	c := turn(&fetched.Instance)
	for i := range fetched.Messages {
		c.Consumed = append(c.Consumed, fetched.Messages[i].ID)
	}
	if err := p.db.pool.QueryRow(t.Context(), p.db.names.sql(`SELECT lease_token FROM perdure.instance WHERE key = $1`), uuid(c.Key)).Scan(into(&c.Lease)); err != nil {
		t.Fatal(err)
	}
	return c
}

// A process need not read what it wrote itself to claim it. The result is what a poll would have found.
func TestClaimOfWhatIsCached(t *testing.T) {
	p := store(t)
	req := createRequest("known")
	req.RequestID, req.Attributes = "r", []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 1}}
	res, err := p.Create(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	key, lease := res.Instance.Key, turnsRequest()
	first := fetchTurns(t, p, lease)
	send(t, p, key, text("during the turn"))
	check := func(got provider.Turn, want ...string) {
		t.Helper()
		if diff := cmp.Diff(get(t, p, key), got.Instance); diff != "" {
			t.Errorf("stored against claimed:\n%s", diff)
		}
		var payloads []string
		for i := range got.Messages {
			payloads = append(payloads, string(got.Messages[i].Payload))
		}
		if !slices.Equal(payloads, want) || got.Instance.Deliveries != 1 || got.More {
			t.Errorf("claimed %+v, want messages %q", got, want)
		}
		checkConsistent(t, p)
	}
	// The commit of a turn leaves what came meanwhile, and a send leaves what it sends.
	next := fetchCached(t, p, func() { commit(t, p, consuming(t, p, &first[0])) })
	check(next, "during the turn")
	done := consuming(t, p, &next)
	done.Events = [][]byte{[]byte("e")}
	commit(t, p, done)
	next = fetchCached(t, p, func() { send(t, p, key, text("later")) })
	check(next, "later")
	// It is leased as by any other claim.
	if turns := fetchTurns(t, p, turnsRequest()); len(turns) != 0 {
		t.Fatalf("fetched %+v", turns)
	}
	// A fetch reads what a commit stores in addition to its events, with the commit and after it.
	for i, during := range []bool{true, false} {
		if during {
			send(t, p, key, text("last"))
		}
		done = consuming(t, p, &next)
		done.CustomStatus = []byte{byte(i)}
		done.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: int64(2 + i)}}
		got := fetchLater(t, p)
		commit(t, p, done)
		if !during {
			send(t, p, key, text("last"))
		}
		turns := <-got
		if len(turns) != 1 {
			t.Fatalf("fetched %+v", turns)
		}
		next = turns[0]
		check(next, "last")
	}
	// So is a message that was sent before the instance was last read.
	send(t, p, key, text("unread"))
	if _, err := p.ReleaseTurns(t.Context(), provider.ReleaseTurnsRequest{Items: []provider.TurnRelease{{Key: key, Token: consuming(t, p, &next).Lease}}}); err != nil {
		t.Fatal(err)
	}
	again := fetchTurns(t, p, turnsRequest())
	done = consuming(t, p, &again[0])
	done.Consumed = done.Consumed[:1]
	got := fetchLater(t, p)
	commit(t, p, done)
	if turns := <-got; len(turns) == 1 {
		check(turns[0], "unread")
	} else {
		t.Fatalf("fetched %+v", turns)
	}
}
