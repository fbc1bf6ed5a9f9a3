package postgres

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A fetch caches of an instance what a later transaction would read of it, in each column.
func TestFetchCachesWholeHeads(t *testing.T) {
	longtest.Skip(t)
	p := store(t)
	ctx := t.Context()
	parent := provider.CreateRequest{ID: "parent", Key: unique(), Commit: unique(), Name: "parent", Message: text("start")}
	child := provider.CreateRequest{
		ID: "child", Key: unique(), Commit: unique(), Name: "child", RequestID: "request", EngineLevel: 1, Message: text("start"),
		Parent:   provider.Parent{Key: parent.Key, ID: parent.ID, Execution: 1, EventID: 3},
		Listener: &provider.Listener{Key: parent.Key, Message: text("over")},
	}
	child.First = &provider.CommitTurnRequest{
		Key: child.Key, Execution: 1, Expected: child.Commit, Commit: unique(), Events: [][]byte{[]byte("event")}, Status: provider.StatusRunning,
		Owner: "node", Sticky: time.Hour, EngineLevel: 1,
	}
	for _, req := range []provider.CreateRequest{parent, child} {
		if _, err := p.Create(ctx, req); err != nil {
			t.Fatal(err)
		}
	}
	send(t, p, child.Key, text("one"))
	send(t, p, child.Key, text("two"))
	p.cache.remove(child.Key)
	req := provider.FetchTurnsRequest{
		Owner: "node", Token: unique(), Lease: time.Hour, Capabilities: []provider.Capability{{Name: "child"}}, EngineLevel: 1, Max: 1,
	}
	if res, err := p.FetchTurns(ctx, req); err != nil || len(res.Turns) != 1 {
		t.Fatalf("got %d turns, %v", len(res.Turns), err)
	}
	rows, err := p.db.pool.Query(ctx, p.db.names.sql(sqlPeek), uuids([]provider.UUID{child.Key}))
	if err != nil {
		t.Fatal(err)
	}
	want, err := pgx.CollectExactlyOneRow(rows, func(pgx.CollectableRow) (*stored, error) { return scanStored(rows) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(*want, p.cache.heads[child.Key].stored, cmp.AllowUnexported(stored{}, relational.Head{})); diff != "" {
		t.Errorf("cached otherwise than stored (-stored +cached):\n%s", diff)
	}
}
