package main

import (
	"context"
	"time"

	"github.com/perdure/perdure/provider"
)

// maxDead is larger than any connection pool of the tests.
const maxDead = 50

// freezeAtWork freezes a worker and returns how many turns and activities it has in flight. From then on none of its code
// runs. If it were dead instead, others would take over the work that is counted. If wait is true, it looks for a moment
// at which the worker has work, for a time that is limited.
func (k *killing) freezeAtWork(i int, wait bool) (turns, activities int) {
	k.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; {
		frozen := freeze(k.t, k.workers[i])
		turns, activities = k.heldBy(k.t.Context(), k.workers[i].owner)
		if turns+activities > 0 || !wait || !frozen || time.Now().After(end) {
			return turns, activities
		}
		thaw(k.t, k.workers[i])
		k.pass(k.moment(5, 100))
	}
}

// heldBy counts the turns and activities that an owner has leased.
func (k *killing) heldBy(ctx context.Context, owner string) (turns, activities int) {
	k.t.Helper()
	k.rows(ctx, provider.InspectTurnLeases, func(page *provider.InspectResult) {
		for _, row := range page.TurnLeases {
			if row.Lease.Owner == owner && !row.Lease.Over {
				turns++
			}
		}
	})
	k.rows(ctx, provider.InspectTasks, func(page *provider.InspectResult) {
		for _, row := range page.Tasks {
			if row.State == provider.TaskLeased && row.Lease.Owner == owner && !row.Lease.Over {
				activities++
			}
		}
	})
	return turns, activities
}

// rows reads all rows of a kind, page by page. A restart of the server leaves dead connections in this process's
// pool, and each may fail one read.
func (k *killing) rows(ctx context.Context, kind provider.InspectKind, take func(*provider.InspectResult)) {
	k.t.Helper()
	inspector, ok := provider.As[provider.Inspector](k.store)
	if !ok {
		k.t.Fatal("the store cannot be inspected")
	}
	dead := 0
	for req := (provider.InspectRequest{Kind: kind}); ; {
		page, err := inspector.Inspect(ctx, req)
		if k.cluster != nil && provider.OutcomeOf(err) == provider.OutcomeNothing && dead < maxDead {
			dead++
			continue
		}
		if err != nil {
			k.t.Fatal(err)
		}
		take(&page)
		if req.Cursor = page.Cursor; req.Cursor == "" {
			return
		}
	}
}
