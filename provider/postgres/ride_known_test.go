package postgres

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
)

// ridesKnown fetches while fn makes an instance ready, and fails if the claim takes a statement.
func ridesKnown(t *testing.T, p *Provider, fn func()) provider.Turn {
	t.Helper()
	got := fetchLater(t, p)
	p.signals.mu.Lock()
	for call := range p.signals.parked {
		call.ride.queue = func(*pgx.Batch) { t.Error("the claim asks the database") }
	}
	p.signals.mu.Unlock()
	fn()
	turns := <-got
	if len(turns) != 1 {
		t.Fatalf("fetched %+v", turns)
	}
	return turns[0]
}

// leasedNow makes a turn's commit, which others may extend.
func leasedNow(turn0 *provider.Turn, p *Provider, t *testing.T) provider.CommitTurnRequest {
	t.Helper()
	c := turn(&turn0.Instance)
	for i := range turn0.Messages {
		c.Consumed = append(c.Consumed, turn0.Messages[i].ID)
	}
	if err := p.pool.QueryRow(t.Context(), p.names.sql(`SELECT lease_token FROM perdure.instance WHERE key = $1`), uuid(c.Key)).Scan(into(&c.Lease)); err != nil {
		t.Fatal(err)
	}
	return c
}

// What this process has written it need not read to claim it: the answer is what a look would have found.
func TestClaimOfWhatIsKnown(t *testing.T) {
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
	// A turn's commit leaves what came meanwhile, and a send what it sends.
	next := ridesKnown(t, p, func() { commit(t, p, leasedNow(&first[0], p, t)) })
	check(next, "during the turn")
	done := leasedNow(&next, p, t)
	done.Events = [][]byte{[]byte("e")}
	commit(t, p, done)
	next = ridesKnown(t, p, func() { send(t, p, key, text("later")) })
	check(next, "later")
	// It is leased as by any other claim.
	if turns := fetchTurns(t, p, turnsRequest()); len(turns) != 0 {
		t.Fatalf("fetched %+v", turns)
	}
	// What a commit says beside its events is read again.
	done = leasedNow(&next, p, t)
	done.CustomStatus = []byte("new")
	done.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 2}}
	commit(t, p, done)
	got := fetchLater(t, p)
	send(t, p, key, text("last"))
	turns := <-got
	if len(turns) != 1 {
		t.Fatalf("fetched %+v", turns)
	}
	check(turns[0], "last")
}
