package kit_test

import (
	"context"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/kit"
)

// A filter for what retries chooses the rows that say so, and a page tells how far it has reached.
func TestListsWhatRetries(t *testing.T) {
	t.Parallel()
	rows := []kit.InstanceRow{
		{Instance: provider.Instance{ID: "calm", Key: provider.NewKey("calm"), CreatedAt: 1}},
		{Instance: provider.Instance{ID: "first", Key: provider.NewKey("first"), CreatedAt: 2}, Retrying: true},
		{Instance: provider.Instance{ID: "last", Key: provider.NewKey("last"), CreatedAt: 3}, Retrying: true},
	}
	l := kit.Lister{Now: func() provider.Time { return 4 }, Instances: func(_ context.Context, each func(kit.InstanceRow) bool) error {
		for _, row := range rows {
			if !each(row) {
				break
			}
		}
		return nil
	}}
	req := provider.ListRequest{Max: 1, Filter: provider.Filter{Retrying: true}}
	page, err := l.List(t.Context(), req)
	if err != nil || len(page.Instances) != 1 || page.Instances[0].ID != "last" || page.Cursor == "" || page.Reached != 3 {
		t.Errorf("the first page is %+v: %v", page, err)
	}
	req.Cursor = page.Cursor
	page, err = l.List(t.Context(), req)
	if err != nil || len(page.Instances) != 1 || page.Instances[0].ID != "first" || page.Cursor != "" || page.Reached != 0 {
		t.Errorf("the second page is %+v: %v", page, err)
	}
	count, err := l.Count(t.Context(), provider.CountRequest{Filter: req.Filter})
	if err != nil || count.Count != 2 || !count.Exact {
		t.Errorf("counted %+v: %v", count, err)
	}
}
