package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// Who may see no payloads sees in an incident neither texts of errors nor groups of them, nor acts that groups suggest, nor what is waited for, in no
// role, on the page and in the API. Who may see them does.
func TestHazard161_IncidentsHideErrors(t *testing.T) {
	w := newWorld(t)
	d := w.failedGroup()
	in, err := operate.New(w.client).Incident(t.Context())
	if err != nil || len(in.Failing.Items) == 0 || len(in.Blocked.Items) == 0 || len(in.People.Items) == 0 || in.People.Items[0].Waiting == nil {
		t.Fatalf("%+v, %v: the samples lack a part", in, err)
	}
	secrets := map[string]string{
		"text of an error": d.Excerpt.Text, "group": d.FailureGroup, "text of a wait": in.People.Items[0].Waiting.Text,
		"text of a block": firstLine(in.Blocked.Items[0].Blocked.Message),
	}
	for _, role := range []client.Role{client.RoleViewer, client.RoleOperator, client.RoleAdmin} {
		for name, c := range map[string]struct {
			o     Options
			shown bool
		}{
			"shown": {Options{Authorize: as(role)}, true}, "hidden": {Options{Authorize: as(role), HidePayloads: true}, false},
			"without access control": {Options{}, false},
		} {
			s := w.site(c.o)
			for _, path := range []string{"/incident", "/api/v1/incident"} {
				r := s.get(path)
				body := strings.ReplaceAll(r.body, "&#34;", `"`)
				if r.StatusCode != http.StatusOK {
					t.Errorf("%v, %s: %s: status %d: %s", role, name, path, r.StatusCode, r.body)
				}
				for what, secret := range secrets {
					if strings.Contains(body, secret) != c.shown {
						t.Errorf("%v, %s: %s shows the %s: %v", role, name, path, what, !c.shown)
					}
				}
			}
			got := s.get("/api/v1/incident").json(t)
			if (got["failing"] != nil) != c.shown || strings.Contains(s.get("/api/v1/incident").body, `{"part":"failing","why":"forbidden"`) == c.shown {
				t.Errorf("%v, %s: failures are there, and not said to be hidden: %v", role, name, !c.shown)
			}
			for _, a := range got["acts"].([]any) {
				if group := a.(map[string]any)["group"]; group != nil && !c.shown {
					t.Errorf("%v, %s: an act of group %v is suggested", role, name, group)
				}
			}
		}
	}
}

// illStore notes what is asked of it, and may not answer.
type illStore struct {
	*provider.Full

	dead bool

	mu    sync.Mutex
	calls map[string]int
}

func (s *illStore) call(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[name]++
	if s.dead {
		return errors.New("connection refused to 10.1.2.3")
	}
	return nil
}

func (s *illStore) List(ctx context.Context, req provider.ListRequest) (provider.ListResult, error) {
	if err := s.call("list"); err != nil {
		return provider.ListResult{}, err
	}
	return s.Full.List(ctx, req)
}

func (s *illStore) FailureGroups(ctx context.Context, req provider.FailureGroupsRequest) (provider.FailureGroupsResult, error) {
	if err := s.call("groups"); err != nil {
		return provider.FailureGroupsResult{}, err
	}
	return s.Full.FailureGroups(ctx, req)
}

func (s *illStore) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	if err := s.call("record"); err != nil {
		return provider.RecordResult{}, err
	}
	return s.Full.Record(ctx, req)
}

func (s *illStore) Stats(ctx context.Context, req provider.StatsRequest) (provider.StatsResult, error) {
	if err := s.call("stats"); err != nil {
		return provider.StatsResult{}, err
	}
	return s.Full.Stats(ctx, req)
}

func newIllStore(t *testing.T, dead bool) (*illStore, *world) {
	t.Helper()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	s := &illStore{Full: provider.FullOf(store), dead: dead, calls: map[string]int{}}
	c, err := client.New(s, client.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s, &world{t, c}
}

// However many people look at an incident, the store is read once in ten seconds.
func TestHazard165_ManyWhoLookReadOnce(t *testing.T) {
	store, w := newIllStore(t, false)
	s := w.site(Options{Authorize: as(client.RoleViewer)})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if r := s.get([]string{"/incident", "/api/v1/incident"}[i%2]); r.StatusCode != http.StatusOK {
				t.Errorf("status %d: %s", r.StatusCode, r.body)
			}
		})
	}
	all.Wait()
	if n := store.calls["groups"]; n != 3 { // all, the last hour, and the last two
		t.Errorf("groups were read %d times, want 3", n)
	}
}

// A store that does not answer has a page that says so, is asked for the time only, and shows its error to whom it may.
func TestHazard165_ThePageOfADeadStore(t *testing.T) {
	store, w := newIllStore(t, true)
	for name, o := range map[string]Options{"": {Authorize: as(client.RoleViewer)}, "hidden": {}} {
		s := w.site(o)
		page, api := s.get("/incident"), s.get("/api/v1/incident")
		if page.StatusCode != http.StatusOK || !strings.Contains(page.body, "does not answer") || strings.Contains(page.body, "Nothing.") {
			t.Errorf("status %d: %s", page.StatusCode, page.body)
		}
		if api.StatusCode != http.StatusOK || !strings.Contains(api.body, `"reachable":false`) || !strings.Contains(api.body, `"part":"people","why":"not-asked"`) {
			t.Errorf("status %d: %s", api.StatusCode, api.body)
		}
		for what, body := range map[string]string{"page": page.body, "API": api.body} {
			if strings.Contains(body, "10.1.2.3") != (name == "") {
				t.Errorf("the %s shows the error of the store: %v", what, name != "")
			}
		}
	}
	delete(store.calls, "list")
	if len(store.calls) > 0 {
		t.Errorf("it was asked for %v", store.calls)
	}
}

// Suggested acts lead to their forms, for those who may do them.
func TestIncidentLeadsToForms(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	page := s.get("/incident")
	forms := 0
	for _, link := range page.links() {
		if !strings.Contains(link, "/pause?") && !strings.Contains(link, "/jobs/start?") {
			continue
		}
		forms++
		if r := s.get(link); r.StatusCode != http.StatusOK || !strings.Contains(r.body, "<form") {
			t.Errorf("%s: status %d", link, r.StatusCode)
		}
	}
	if forms == 0 || !strings.Contains(page.body, "perdure queue pause --reason incident") {
		t.Errorf("the page leads to %d forms: %s", forms, page.body)
	}
	if viewer := w.site(Options{Authorize: as(client.RoleViewer)}).get("/incident").body; strings.Contains(viewer, "/queues/pause?") {
		t.Error("a viewer is led to a form that it may not send")
	}
}
