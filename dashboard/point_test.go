package dashboard

import (
	"net/http"
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
	refused(point(s, "nonsense", http.StatusBadRequest), http.StatusBadRequest, "first-failure, last-failure, patch=ID")
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
