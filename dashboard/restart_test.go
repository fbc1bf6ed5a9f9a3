package dashboard

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
)

// The form of a restart begins with the input for those who may see it whole and ask for it. What is sent is the new input; nothing is the old one.
func TestRestartWithAnotherInput(t *testing.T) {
	w, key := newCrashing(t, 4711)
	redact := func(_ context.Context, _ client.Principal, v Payload) (json.RawMessage, error) { return v.Data, nil }
	path := "/instances/" + key + "/restart"
	for _, c := range []struct {
		name         string
		o            Options
		status       int
		offers, fill bool
	}{
		{"operator", Options{Authorize: as(client.RoleOperator)}, http.StatusOK, true, true},
		{"viewer", Options{Authorize: as(client.RoleViewer)}, http.StatusForbidden, false, false},
		{"hidden", Options{Authorize: as(client.RoleAdmin), HidePayloads: true}, http.StatusOK, false, false},
		{"redacted", Options{Authorize: as(client.RoleAdmin), Redact: redact}, http.StatusOK, false, false},
	} {
		s := w.site(c.o)
		form, filled := s.get(path), s.get(path+"?payloads=show")
		if form.StatusCode != c.status || strings.Contains(form.body, path+"?payloads=show") != c.offers || strings.Contains(form.body, "4711") {
			t.Errorf("%s: status %d: %s", c.name, form.StatusCode, form.body)
		}
		if filled.StatusCode != c.status || strings.Contains(filled.body, ">4711</textarea>") != c.fill || !c.fill && strings.Contains(filled.body, "4711") {
			t.Errorf("%s, with payloads: status %d: %s", c.name, filled.StatusCode, filled.body)
		}
	}
	s := w.site(Options{Authorize: as(client.RoleOperator)})
	if r := w.site(Options{Authorize: as(client.RoleViewer)}).form(path, url.Values{"id": {"no"}, "input": {"1"}}); r.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer: status %d", r.StatusCode)
	}
	if r := s.form(path, url.Values{"id": {"no"}, "input": {"{"}}); r.StatusCode != http.StatusBadRequest {
		t.Errorf("an input that is no JSON: status %d", r.StatusCode)
	}
	for id, c := range map[string]struct{ input, want string }{"edited": {"12", "12"}, "null": {"null", ""}, "same": {"", "4711"}} {
		if r := s.form(path, url.Values{"id": {id}, "input": {c.input}}); r.StatusCode != http.StatusSeeOther {
			t.Errorf("%s: status %d: %s", id, r.StatusCode, r.body)
			continue
		}
		h, err := client.Lookup[any](t.Context(), w.client, id)
		if err != nil {
			t.Fatal(err)
		}
		var p client.HistoryPage
		until(t, func() bool {
			p, err = h.HistoryPage(t.Context(), client.HistoryRange{From: 1, To: 1})
			return err == nil && len(p.Events) == 1
		})
		if got := strings.TrimPrefix(string(p.Events[0].Input), "null"); got != c.want {
			t.Errorf("%s began with %s, want %s", id, got, c.want)
		}
	}
}
