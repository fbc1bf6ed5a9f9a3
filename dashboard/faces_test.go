package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
)

// failedGroup returns a failed instance of the samples.
func (w *world) failedGroup() client.Description {
	w.t.Helper()
	list, err := w.client.List(w.t.Context(), client.Filter{Statuses: []client.Status{client.StatusFailed}}, client.Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, d := range list.Items {
		if d.Excerpt != nil && d.FailureGroup != "" && len(d.Excerpt.Text) > 8 {
			return d
		}
	}
	w.t.Fatalf("no sample has failed with an excerpt: %+v", list.Items)
	return client.Description{}
}

// Who may see no payloads sees neither excerpts nor groups of errors nor texts of errors, on no page, in no answer and in no log, and cannot find
// out by a filter what they say. That holds for each role, also on the overview, which one read serves to all.
func TestHazard161_ErrorsArePayloads(t *testing.T) {
	w := newWorld(t)
	d := w.failedGroup()
	group := "failureGroup=" + d.FailureGroup
	redact := func(_ context.Context, _ client.Principal, v Payload) (json.RawMessage, error) {
		return bytes.ReplaceAll(v.Data, []byte(d.Excerpt.Text), []byte("(redacted)")), nil
	}
	for _, role := range []client.Role{client.RoleViewer, client.RoleOperator, client.RoleAdmin} {
		for _, c := range []struct {
			name  string
			o     Options
			shown bool
		}{
			{"shown", Options{Authorize: as(role)}, true},
			{"hidden", Options{Authorize: as(role), HidePayloads: true}, false},
			{"redacted", Options{Authorize: as(role), Redact: redact}, false},
			{"without access control", Options{}, false},
		} {
			log := new(bytes.Buffer)
			c.o.Logger = slog.New(slog.NewTextHandler(log, nil))
			s := w.site(c.o)
			for path, has := range map[string]bool{ // whether it shows the error to those who may see it
				"/": true, "/instances": true, "/instances?status=Failed": true, "/api/v1/instances?payloads=show": true, "/retrying": false,
				"/instances/" + d.Key.String(): true, "/instances/" + d.Key.String() + "/history": true,
				"/api/v1/instances/" + d.Key.String() + "?payloads=show":                true,
				"/api/v1/instances/" + d.Key.String() + "/history?payloads=show&max=99": true,
				"/api/v1/activities?payloads=show":                                      false,
			} {
				r := s.get(path)
				text := strings.Contains(r.body, d.Excerpt.Text)
				if r.StatusCode != http.StatusOK || text != (c.shown && has) {
					t.Errorf("%v, %s: %s: status %d, the text is shown: %v", role, c.name, path, r.StatusCode, text)
				}
				if !c.shown && strings.Contains(r.body, d.FailureGroup) {
					t.Errorf("%v, %s: %s shows the group", role, c.name, path)
				}
			}
			for path, plain := range map[string]bool{
				"/instances?" + group: true, "/api/v1/instances?" + group: true, "/api/v1/instances/count?" + group: true, "/failures": true,
				"/failures?group=" + d.FailureGroup: true, "/api/v1/failures": true, "/api/v1/failures?group=" + d.FailureGroup: true,
				"/api/v1/instances/count?retrying=true": false,
			} {
				r := s.get(path)
				if want := map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[c.shown || !plain]; r.StatusCode != want {
					t.Errorf("%v, %s: %s: status %d, want %d: %s", role, c.name, path, r.StatusCode, want, r.body)
				}
				if !c.shown && strings.Contains(r.body, d.Excerpt.Text) {
					t.Errorf("%v, %s: %s shows the text", role, c.name, path)
				}
			}
			if strings.Contains(log.String(), d.Excerpt.Text) {
				t.Errorf("%v, %s: the log has the text: %s", role, c.name, log)
			}
		}
	}
	for _, o := range []Options{{}, {Authorize: as(client.RoleAdmin), HidePayloads: true}} {
		for _, path := range []string{"/instances?attribute=region=eu", "/api/v1/instances?attribute=region=eu", "/api/v1/instances/count?attribute=region=eu"} {
			if r := w.site(o).get(path); r.StatusCode != http.StatusForbidden {
				t.Errorf("%s filters by an attribute that is not shown: status %d", path, r.StatusCode)
			}
		}
	}
}
