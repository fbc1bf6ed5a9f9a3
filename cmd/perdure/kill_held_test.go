package main

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// maxDead is larger than any connection pool of the tests.
const maxDead = 50

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
