package operate_test

import (
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/operate"
)

// audited returns the whole audit, newest first.
func audited(w *clienttest.World) []operate.AuditEntry {
	w.T.Helper()
	page, err := operate.New(w.Client).Audit(w.T.Context(), operate.AuditFilter{}, client.Page{})
	if err != nil {
		w.T.Fatal(err)
	}
	return page.Items
}

func TestAuditIsFilteredAndPaged(t *testing.T) {
	w := clienttest.NewWorld(t, client.Options{})
	w.Start(client.WithID("x"))
	w.Start(client.WithID("y"))
	c := w.AsRole(client.RoleAdmin)
	for range 3 {
		for _, id := range []string{"x", "y"} {
			if err := c.Raise(t.Context(), id, "paid", 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := c.Terminate(t.Context(), "y", "no longer wanted"); err != nil {
		t.Fatal(err)
	}
	count := func(f operate.AuditFilter) (n int) {
		var page client.Page
		page.Size = 2
		for {
			got, err := operate.New(w.Client).Audit(t.Context(), f, page)
			if err != nil {
				t.Fatal(err)
			}
			n += len(got.Items)
			if page.Cursor = got.Cursor; page.Cursor == "" {
				return n
			}
		}
	}
	newest := audited(w)[0]
	for _, c := range []struct {
		f    operate.AuditFilter
		want int
	}{
		{operate.AuditFilter{}, 7},
		{operate.AuditFilter{Instance: "x"}, 3},
		{operate.AuditFilter{Act: client.ActTerminate}, 1},
		{operate.AuditFilter{Principal: "bob"}, 0},
		{operate.AuditFilter{Key: newest.Key}, 4},
		{operate.AuditFilter{After: newest.At}, 1},
		{operate.AuditFilter{Before: newest.At}, 6},
	} {
		if got := count(c.f); got != c.want {
			t.Errorf("%+v: %d entries, want %d", c.f, got, c.want)
		}
	}
	if newest.Detail != "no longer wanted" || newest.Instance != "y" {
		t.Errorf("newest entry: %+v", newest)
	}
	_, err := operate.New(w.Client).Audit(t.Context(), operate.AuditFilter{Act: "steal"}, client.Page{})
	clienttest.Want(t, err, `reading the audit: invalid request: there is no act "steal": give one of the Act constants`, client.ErrInvalid)
}
