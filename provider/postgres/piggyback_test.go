package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider/internal/relational"
)

// When a create returns, a waiting fetch has claimed what it made ready, without a round trip of the claim.
func TestClaimsArePiggybackedOnGroups(t *testing.T) {
	longtest.Skip(t)
	p, w := counting(t)
	create(t, p, "first") // its kind is known from now on
	fetchTurns(t, p, turnsRequest())
	trips := int64(0)
	for range maxRuns { // one of them counts; others may include more, such as renewing the row of the process
		got, before := fetchLater(t, p), w.trips.Load()
		key := create(t, p, unique().String()).Key
		turns := <-got
		trips = w.trips.Load() - before
		if len(turns) != 1 || turns[0].Instance.Key != key || turns[0].Instance.Deliveries != 1 || len(turns[0].Messages) != 1 {
			t.Fatalf("fetched %+v", turns)
		}
		// This process then caches the claim, not the create: both are of one transaction.
		send(t, p, key, text("later"))
		if n := number(t, p, `SELECT count(*) FROM perdure.instance WHERE key = $1 AND lease_token IS NOT NULL`, uuid(key)); n != 1 {
			t.Fatal("a message that came later has taken the claim away")
		}
		if trips == 1 {
			return
		}
	}
	t.Errorf("a create and the claim of what it made: %d round trips", trips)
}

// A group that fails rolls back the claim that is attached to it. The fetch continues, and takes what the group stores at
// last.
func TestClaimsOutliveTheGroupTheyAreAttachedTo(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	other := opened(t, postgrestest.URL(t), Options{Schema: p.db.opts.Schema})
	in := create(t, p, "in")
	send(t, p, in.Key, text("known"))
	req := turnsRequest()
	first := fetchTurns(t, p, req)
	send(t, other, in.Key, text("between")) // what this process has cached is out of date
	got := fetchLater(t, p)
	next := turn(&first[0].Instance, first[0].Messages[0].ID)
	next.Lease, next.Events = req.Token, [][]byte{[]byte("started")}
	commit(t, p, next)
	if turns := <-got; len(turns) != 1 || len(turns[0].Messages) != 2 || string(turns[0].Messages[1].Payload) != "between" {
		t.Fatalf("fetched %+v", turns)
	}
	checkConsistent(t, p)
}

// A caller that gives up while its claim is in flight leaves nothing claimed.
func TestAttachedFetchThatGaveUpClaimsNothing(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	create(t, p, "first")
	fetchTurns(t, p, turnsRequest())
	stop, got := fetchUntil(t, p)
	fx := relational.NewEffects()
	for _, kind := range p.kinds.get().ByCap[orc[0]] {
		fx.Turns[kind] = struct{}{}
	}
	b := &pgx.Batch{}
	attached := p.waiters.attach(&fx, b, p.presence)
	if attached == nil {
		t.Fatal("no claim is attached")
	}
	create(t, p, "second")
	stop()
	if err := p.db.pool.SendBatch(t.Context(), b).Close(); err != nil {
		t.Fatal(err)
	}
	if n := number(t, p, `SELECT count(*) FROM perdure.instance WHERE id = 'second' AND lease_token IS NOT NULL`); n != 1 {
		t.Fatal("the attached fetch has claimed nothing")
	}
	attached.finish(true)
	if turns := <-got; len(turns) != 0 {
		t.Fatalf("a caller that gave up got %+v", turns)
	}
	eventually(t, "the instance is free", func() bool {
		turns := fetchTurns(t, p, turnsRequest())
		return len(turns) == 1 && turns[0].Instance.Deliveries == 1
	})
}
