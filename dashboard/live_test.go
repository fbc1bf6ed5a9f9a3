package dashboard

import (
	"net/http"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
)

// fragment asks for the main part of a page, unless it has the ETag.
func fragment(etag string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set(fragmentHeader, "1")
		r.Header.Set("If-None-Match", etag)
	}
}

// A live page is answered by 304 until what it shows changes: also by a change that makes no new version of the instance, by another
// principal, and by another view of payloads.
func TestHazard83_ALivePageSeesWhatPeopleLookAt(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleOperator)})
	path := "/instances/" + w.key("order-1006")
	first := s.get(path)
	etag := first.Header.Get("ETag")
	if etag == "" || !strings.Contains(first.body, "<html") {
		t.Fatalf("the page has the ETag %q", etag)
	}
	if r := s.get(path, fragment(etag)); r.StatusCode != http.StatusNotModified || r.body != "" {
		t.Errorf("an unchanged page: %d with %d bytes", r.StatusCode, len(r.body))
	}
	if err := w.client.Suspend(t.Context(), "order-1006", ""); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Raise(t.Context(), "order-1006", "other", 1); err != nil { // it waits: there is no turn
		t.Fatal(err)
	}
	changed := s.get(path, fragment(etag))
	if changed.StatusCode != http.StatusOK || strings.Contains(changed.body, "<html") || !strings.Contains(changed.body, "Suspended") {
		t.Errorf("a changed page: %d: %s", changed.StatusCode, changed.body)
	}
	again := changed.Header.Get("ETag")
	if err := w.client.Raise(t.Context(), "order-1006", "other", 2); err != nil {
		t.Fatal(err)
	}
	if r := s.get(path, fragment(again)); r.StatusCode != http.StatusOK {
		t.Errorf("a page whose instance got a message: %d", r.StatusCode)
	}
}

// The ETag of a page changes with the principal, so that nobody keeps what another role was shown.
func TestHazard88_AnETagBelongsToAPrincipal(t *testing.T) {
	w := newWorld(t)
	etags := map[string]string{}
	for _, who := range []client.Principal{{Name: "ann", Role: client.RoleViewer}, {Name: "bob", Role: client.RoleViewer}, {Name: "ann", Role: client.RoleOperator}} {
		s := w.site(Options{Authorize: func(*http.Request) (client.Principal, error) { return who, nil }})
		etag := s.get("/audit").Header.Get("ETag")
		if other := etags[etag]; etag == "" || other != "" {
			t.Errorf("%v has the ETag %q, as %s has", who, etag, other)
		}
		etags[etag] = who.Name
	}
}

// Pages and acts are addressed by key: an ID that was given to another instance leads to no act on that, and IDs that no path can
// hold are found.
func TestHazard88_PagesAndActsGoByKey(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	old := w.key("order-1000")
	h, err := client.StartNamed[any](t.Context(), w.client, "Reminder", 9, client.WithID("order-1000"), client.WithIDPolicy(client.ReplaceEnded))
	if err != nil {
		t.Fatal(err)
	}
	if r := s.form("/instances/"+old+"/terminate", nil); r.StatusCode != http.StatusConflict {
		t.Errorf("terminating what has ended: %d", r.StatusCode)
	}
	if d, err := h.Describe(t.Context()); err != nil || d.Status.Ended() {
		t.Errorf("its successor is %v, %v", d.Status, err)
	}
	for _, id := range []string{".", "..", "a/../b", "/", "?x#y", "%2e"} {
		made, err := client.StartNamed[any](t.Context(), w.client, "Reminder", 9, client.WithID(id))
		if err != nil {
			t.Fatal(err)
		}
		r := s.get("/lookup?id=" + escapeQuery(id))
		if to := r.Header.Get("Location"); to != "/instances/"+made.Key().String() {
			t.Errorf("the ID %q leads to %q", id, to)
		}
		if r := s.form("/instances/"+made.Key().String()+"/terminate", nil); r.StatusCode != http.StatusSeeOther {
			t.Errorf("terminating %q: %d", id, r.StatusCode)
		}
	}
}
