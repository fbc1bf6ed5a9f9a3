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
				"/instances/" + d.Key.String() + "/timeline":                            true, "/instances/" + d.Key.String() + "/children": false,
				"/instances?q=status:failed": true, "/api/v1/instances?q=status:failed+OR+is:retrying": true, "/api/v1/instances/count?q=status:failed": false,
				"/api/v1/figures": false, "/audit": false, "/api/v1/audit": false, "/api/v1/instances/" + d.Key.String() + "/waits": false,
				"/api/v1/instances/" + d.Key.String() + "/tree": true, "/api/v1/queues": false, "/?window=day": true,
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
				"/api/v1/instances/count?retrying=true": false, "/instances?q=group:" + d.FailureGroup: true,
				"/api/v1/instances?q=group:" + d.FailureGroup: true, "/api/v1/instances/count?q=group:" + d.FailureGroup: true,
				"/api/v1/instances/count?q=is:retrying+OR+group:" + d.FailureGroup: true, "/api/v1/jobs/preview?" + group: true,
				"/failures?orchestration=" + d.Orchestration: true, "/api/v1/failures?orchestration=" + d.Orchestration: true,
				"/api/v1/instances/count?q=is:retrying+OR+status:failed": false,
			} {
				r := s.get(path)
				if want := map[bool]int{true: http.StatusOK, false: http.StatusForbidden}[c.shown || !plain]; r.StatusCode != want {
					t.Errorf("%v, %s: %s: status %d, want %d: %s", role, c.name, path, r.StatusCode, want, r.body)
				}
				if !c.shown && (strings.Contains(r.body, d.Excerpt.Text) || strings.Contains(r.Header.Get("Location"), d.FailureGroup)) {
					t.Errorf("%v, %s: %s shows the text", role, c.name, path)
				}
				if !c.shown && plain && strings.Contains(r.body, `"count"`) {
					t.Errorf("%v, %s: %s counts: %s", role, c.name, path, r.body)
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

// Who may see no payloads sees no text of an error on the pages for whoever is on call: those of attempts that are tried again, of blocked
// instances, of dead letters and of what has failed. Who may see them does.
func TestHazard161_PagesOnCallHideErrors(t *testing.T) {
	w := newWorld(t)
	for mark := ""; ; {
		d, next, err := w.client.Follow(t.Context(), "order-1007/delivery", mark)
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Activities) == 1 && d.Activities[0].Failure != nil {
			break
		}
		mark = next
	}
	if err := w.client.Raise(t.Context(), "bill-november", "paid", 1); err != nil {
		t.Fatal(err)
	}
	if err := w.client.Terminate(t.Context(), "bill-november", "canary of a reason"); err != nil {
		t.Fatal(err)
	}
	pages := map[string]string{ // what each shows of errors to those who may see them
		"/": "IBAN unknown", "/retrying": "503 Service Unavailable", "/failures": "IBAN unknown", "/incident": "503 Service Unavailable", "/instances?q=status:failed": "IBAN unknown",
		"/instances/" + w.key("order-1007/delivery"):                "503 Service Unavailable",
		"/instances/" + w.key("order-1007/delivery") + "/timeline":  "503 Service Unavailable",
		"/instances/" + w.key("refund-17") + "/timeline":            "IBAN unknown",
		"/instances/" + w.key("refund-17") + "/history?failed=true": "IBAN unknown",
		"/instances/" + w.key("bill-november"):                      "canary of a reason",
		"/dead-letters":                                             "", "/jobs": "", "/audit": "", "/queues": "", "/nodes": "",
	}
	texts := []string{"IBAN unknown", "503 Service Unavailable", "canary of a reason"}
	for _, role := range []client.Role{client.RoleViewer, client.RoleAdmin} {
		shown, hidden := w.site(Options{Authorize: as(role)}), w.site(Options{Authorize: as(role), HidePayloads: true})
		for path, text := range pages {
			if body := shown.get(path).body; !strings.Contains(body, text) {
				t.Errorf("%v: %s lacks %q", role, path, text)
			}
			for _, canary := range texts {
				for what, s := range map[string]*site{"with HidePayloads": hidden, "without access control": w.site(Options{})} {
					if strings.Contains(s.get(path).body, canary) {
						t.Errorf("%v: %s, %s, shows %q", role, path, what, canary)
					}
				}
			}
		}
	}
}

// A page of failures that leaves some out does not say that there are none.
func TestAFilterOfFailuresIsNotNone(t *testing.T) {
	const none, no = "There are no groups", "No such group"
	full, empty := newWorld(t), newStore(t)
	for _, c := range []struct {
		w          *world
		path       string
		want, lack string
	}{
		{full, "/failures?group=other", no, none},
		{full, "/failures?orchestration=Other", no, none},
		{full, "/failures?endedAfter=2999-01-01T00:00:00Z", no, none},
		{empty, "/failures", none, no},
	} {
		body := c.w.site(Options{Authorize: as(client.RoleViewer)}).get(c.path).body
		if !strings.Contains(body, c.want) || strings.Contains(body, c.lack) {
			t.Errorf("%s lacks %q or has %q: %s", c.path, c.want, c.lack, body)
		}
	}
}
