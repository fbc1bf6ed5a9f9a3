package dashboard

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
)

// A point is found for every role, and an act that takes one is bound to the execution that was previewed: a repeat finds the same point again, and
// a later act meets no other execution.
func TestHazard152_TheAPIBindsThePointToItsExecution(t *testing.T) {
	w, key := newCrashing(t, 10)
	s := w.site(Options{Authorize: as(client.RoleOperator)})
	viewer := w.site(Options{Authorize: as(client.RoleViewer), HidePayloads: true})
	of := "/instances/" + key
	point := func(s *site, to string, want int) reply {
		t.Helper()
		r := s.get("/api/v1" + of + "/point?to=" + to)
		if r.StatusCode != want {
			t.Errorf("%s: status %d, want %d: %s", to, r.StatusCode, want, r.body)
		}
		return r
	}
	refused := func(r reply, status int, text string) {
		t.Helper()
		if r.StatusCode != status || !strings.Contains(r.body, text) {
			t.Errorf("status %d, want %d with %q: %s", r.StatusCode, status, text, r.body)
		}
	}
	first, last := point(viewer, "first-failure", http.StatusOK), point(s, "last-failure", http.StatusOK)
	found := last.json(t)
	if first.body == last.body || found["execution"] != "1" || !strings.Contains(last.body, `"reruns":[{`) || strings.Contains(first.body, canary) {
		t.Errorf("points %s and %s", first.body, last.body)
	}
	refused(point(s, "nonsense", http.StatusBadRequest), http.StatusBadRequest, "first-failure, last-failure, patch=ID, event=N")
	refused(point(s, "patch=better", http.StatusUnprocessableEntity), http.StatusUnprocessableEntity, `"code":"no-point"`)
	refused(point(s, "time=1971-01-01T00:00:00Z", http.StatusUnprocessableEntity), http.StatusUnprocessableEntity, "which began at")
	refused(viewer.call(of+"/reset", object{"to": "last-failure", "execution": "1"}), http.StatusForbidden, "forbidden")
	refused(viewer.call(of+"/fork", object{"to": "last-failure", "execution": "1", "id": "x"}), http.StatusForbidden, "forbidden")
	refused(s.call(of+"/reset", object{"to": "last-failure"}), http.StatusBadRequest, "execution is missing")
	refused(s.call(of+"/reset", object{"to": "last-failure", "event": 1, "execution": "1"}), http.StatusBadRequest, "give one of them")
	refused(s.call(of+"/reset", object{"execution": "1"}), http.StatusBadRequest, "give one of them")
	refused(s.call(of+"/reset", object{"to": "patch=better", "execution": "1"}), http.StatusUnprocessableEntity, "no-point")
	fork := s.call(of+"/fork", object{"to": "first-failure", "execution": "1", "id": "other"})
	if fork.StatusCode != http.StatusOK {
		t.Errorf("fork: %d: %s", fork.StatusCode, fork.body)
	}
	for range 2 { // the second time execution 2 is current, and has other failures
		r := s.call(of+"/reset", object{"to": "last-failure", "execution": "1", "requestId": "click"})
		if r.StatusCode != http.StatusOK || r.json(t)["execution"] != "2" {
			t.Errorf("reset: %d: %s", r.StatusCode, r.body)
		}
	}
	refused(s.call(of+"/reset", object{"to": "last-failure", "execution": "1"}), http.StatusConflict, "superseded")
}

// The form shows the point that a kind finds, or that a history leads to, before the act, and acts at no point that it has not shown. Viewers get no
// form, and nothing hidden is in it.
func TestHazard153_TheFormShowsThePointFirst(t *testing.T) {
	w, key := newCrashing(t, 10)
	s := w.site(Options{Authorize: as(client.RoleOperator), HidePayloads: true})
	viewer := w.site(Options{Authorize: as(client.RoleViewer)})
	readOnly := w.site(Options{Authorize: as(client.RoleAdmin), ReadOnly: true})
	of := "/instances/" + key
	value := func(body, field string) string { return formValue(t, body, field) }
	execution := func() string {
		t.Helper()
		return s.get("/api/v1" + of).json(t)["execution"].(string)
	}
	begin := s.get(of + "/reset")
	for _, to := range []string{"first-failure", "last-failure"} {
		if !strings.Contains(begin.body, `href="`+of+`/reset?to=`+to+`"`) {
			t.Errorf("the form does not lead to %s", to)
		}
	}
	shown := s.get(of + "/reset?to=first-failure")
	event := s.get("/api/v1" + of + "/point?to=first-failure").json(t)["event"].(string)
	for _, text := range []string{"Event " + event + ": before the first failed activity", "not in the new history", "Runs again", "<strong>crash</strong> of event"} {
		if !strings.Contains(shown.body, text) {
			t.Errorf("the form lacks %q: %s", text, shown.body)
		}
	}
	if strings.Contains(shown.body, canary) || value(shown.body, "event") != event || value(shown.body, "execution") != "1" || value(shown.body, "to") != "" {
		t.Errorf("the form is not bound to event %s of execution 1, or shows what is hidden: %s", event, shown.body)
	}
	linked := s.get(of + "/fork?event=" + event + "&execution=1")
	if !strings.Contains(linked.body, "Event "+event+": before event "+event) || !strings.Contains(linked.body, "not in the new instance") {
		t.Errorf("a link of the history shows no point: %s", linked.body)
	}
	for _, c := range []struct {
		s      *site
		path   string
		status int
		text   string
	}{
		{s, "/reset?to=patch%3Dbetter", http.StatusUnprocessableEntity, "no such point"},
		{s, "/reset?to=nonsense", http.StatusBadRequest, "give first-failure, last-failure"},
		{s, "/reset?event=" + event + "&execution=7", http.StatusConflict, "execution 7 was shown"},
		{viewer, "/reset?to=first-failure", http.StatusForbidden, "viewer"},
		{viewer, "/fork?to=first-failure", http.StatusForbidden, "viewer"},
	} {
		if r := c.s.get(of + c.path); r.StatusCode != c.status || !strings.Contains(html.UnescapeString(r.body), c.text) || strings.Contains(r.body, "Runs again") {
			t.Errorf("%s: status %d, want %d with %q: %s", c.path, r.StatusCode, c.status, c.text, r.body)
		}
	}
	// A kind is never acted upon: the page shows its point, and only then the act.
	for _, in := range []url.Values{{"to": {"last-failure"}, "execution": {"1"}}, {"event": {event}, "preview": {"true"}}, {"event": {event}, "to": {"last-failure"}}} {
		r := s.form(of+"/reset", in)
		if r.StatusCode != http.StatusOK || !strings.Contains(r.body, "Runs again") || execution() != "1" {
			t.Errorf("%v: status %d, execution %s: %s", in, r.StatusCode, execution(), r.body)
		}
	}
	for _, one := range []*site{viewer, readOnly} {
		if r := one.form(of+"/reset", url.Values{"to": {"last-failure"}}); r.StatusCode != http.StatusForbidden {
			t.Errorf("a form of whoever may not reset: status %d", r.StatusCode)
		}
	}
	if r := s.form(of+"/reset", url.Values{"event": {event}, "execution": {"1"}}); r.StatusCode != http.StatusSeeOther || execution() != "2" {
		t.Errorf("the reset: status %d, execution %s: %s", r.StatusCode, execution(), r.body)
	}
	if r := s.form(of+"/reset", url.Values{"event": {event}, "execution": {"1"}}); r.StatusCode != http.StatusConflict {
		t.Errorf("a reset of what is over: status %d", r.StatusCode)
	}
}

// A bulk job that looks for its points counts the instances without one first, on the page and in the API, and viewers begin none.
func TestHazard153_ThePageCountsWhatHasNoPoint(t *testing.T) {
	w, _ := newCrashing(t, 10)
	s := w.site(Options{Authorize: as(client.RoleOperator)})
	viewer := w.site(Options{Authorize: as(client.RoleViewer), HidePayloads: true})
	const filter = "prefix=crashing"
	r := viewer.get("/api/v1/jobs/preview?to=last-failure&replaced=true")
	if r.StatusCode != http.StatusOK || !strings.Contains(r.body, `"points":{"to":"last-failure","looked":"7","without":"6","unread":"0","exact":true}`) {
		t.Errorf("status %d: %s", r.StatusCode, r.body)
	}
	if r := viewer.get("/api/v1/jobs/preview?to=nonsense"); r.StatusCode != http.StatusBadRequest {
		t.Errorf("a kind that is none: status %d", r.StatusCode)
	}
	in := url.Values{"act": {"reset"}, "filter": {filter}, "max": {"1"}, "to": {"last-failure"}, "reason": {"mended"}}
	if r := viewer.form("/jobs/start", in); r.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer: status %d", r.StatusCode)
	}
	jobs := func() string { return s.get("/api/v1/jobs").body }
	r = s.form("/jobs/start", in)
	if r.StatusCode != http.StatusOK || !strings.Contains(r.body, "Without a point <code>last-failure</code>") || !strings.Contains(r.body, `name="counted" value="last-failure"`) ||
		!strings.Contains(r.body, "mended") || strings.Contains(jobs(), "reset") {
		t.Errorf("status %d: %s", r.StatusCode, r.body)
	}
	in.Set("counted", "last-failure")
	if r := s.form("/jobs/start", in); r.StatusCode != http.StatusSeeOther || !strings.Contains(jobs(), `"act":"reset"`) {
		t.Errorf("status %d: %s", r.StatusCode, r.body)
	}
	if r := s.call("/jobs/start", object{"act": "reset", "filter": filter, "max": 1, "to": "last-failure", "point": 1}); r.StatusCode != http.StatusBadRequest {
		t.Errorf("an event and a kind: status %d: %s", r.StatusCode, r.body)
	}
}
