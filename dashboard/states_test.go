package dashboard

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// Perdure's own orchestrations, which every node runs, are no work that waits for a node.
func TestOwnOrchestrationsRaiseNoAlarm(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	if _, err := client.CreateScheduleNamed(ctx, w.client, "nightly", client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: time.Hour}}}, "Reminder", nil); err != nil {
		t.Fatal(err)
	}
	if err := operate.New(w.client).SetRetention(ctx, operate.Retention{Rules: []operate.RetentionRule{{Age: 30 * 24 * time.Hour}}}); err != nil {
		t.Fatal(err)
	}
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	if r := s.get("/"); strings.Contains(r.body, "perdure.") || strings.Contains(r.body, "Served by no node") {
		t.Errorf("the overview says that perdure's own work is served by no node: %s", r.body)
	}
	r := s.get("/nodes")
	for _, name := range []string{"perdure.schedule", "perdure.retention"} {
		_, row, found := strings.Cut(r.body, name+"</a>")
		row, _, _ = strings.Cut(row, "</tr>")
		if !found || strings.Contains(row, "none</span></td></tr>") || strings.Contains(row, "blocked") {
			t.Errorf("the row of %s: %s", name, row)
		}
	}
	if strings.Contains(r.body, "perdure.bulk") {
		t.Error("the page of nodes lists an orchestration of perdure that no instance runs")
	}
	if f, err := operate.New(w.client).StoreFigures(ctx); err != nil || f.Unserved["orchestration"] != 0 {
		t.Errorf("%+v, %v: want nothing unserved", f, err)
	}
}

// sealing is a store with one instance and without a node.
func sealing(t *testing.T) (*world, provider.Mover, provider.UUID) {
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	c, err := client.New(store, client.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.StartNamed[any](t.Context(), c, "Order", 1, client.WithID("order-1"))
	if err != nil {
		t.Fatal(err)
	}
	mover, ok := provider.As[provider.Mover](store)
	if !ok {
		t.Fatal("the store has no seals")
	}
	return &world{t, c}, mover, h.Key()
}

// buttons returns the acts that the page of an instance offers.
func (r reply) buttons(key provider.UUID) (names []string) {
	for _, link := range r.links() {
		name, found := strings.CutPrefix(link, "/instances/"+key.String()+"/")
		name, _, _ = strings.Cut(name, "?")
		if found && name != "history" {
			names = append(names, name)
		}
	}
	return names
}

// A sealed instance is shown as sealed, with the acts that the store does not refuse.
func TestASealedInstanceIsSealed(t *testing.T) {
	w, mover, key := sealing(t)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	seal := func(to provider.SealState) {
		t.Helper()
		_, err := mover.Seal(t.Context(), provider.SealRequest{Key: key, Transfer: provider.UUID{1}, To: to, Commit: provider.UUID(uuid.New())})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		to   provider.SealState
		acts []string
	}{{provider.SealHeld, []string{"raise", "delete"}}, {provider.SealClosed, []string{"delete"}}} {
		seal(c.to)
		r := s.get("/instances/" + key.String())
		if got := r.buttons(key); !slices.Equal(got, c.acts) {
			t.Errorf("%v: the page offers %q, want %q", c.to, got, c.acts)
		}
		for page, body := range map[string]string{"instance": r.body, "list": s.get("/instances?all=1").body, "overview": s.get("/").body} {
			if strings.Contains(body, ">Suspended</span></td>") || strings.Contains(body, ">Deleting<") || !strings.Contains(body, "Sealed") {
				t.Errorf("%v: the %s does not show it as sealed: %s", c.to, page, body)
			}
		}
		if !strings.Contains(r.body, "perdure unseal") || strings.Contains(r.body, "to be resumed") {
			t.Errorf("%v: the page does not say what helps: %s", c.to, r.body)
		}
		for _, path := range []string{"resume", "terminate"} { // what is not offered cannot work
			if got := s.call("/instances/"+key.String()+"/"+path, object{}); got.StatusCode != http.StatusGone {
				t.Errorf("%v: %s returned %d: %s", c.to, path, got.StatusCode, got.body)
			}
		}
	}
}
