package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// Responses of the API fit the document.
func TestAnswersFitTheDocument(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	w.planned(s)
	types := schemas{}
	for _, rt := range routes() {
		if rt.api == nil || rt.api.answers == nil || rt.method != http.MethodGet || strings.HasSuffix(rt.pattern, "/export") {
			continue
		}
		for _, id := range []string{"order-1000", "order-1006", "order-1007", "bill-november", "refund-17"} {
			path := rt.path(w.key(id))
			if strings.HasSuffix(path, "/value") {
				path += "?name=label"
			}
			if strings.HasSuffix(path, "/schedule") || strings.HasSuffix(path, "/jobs/failures") {
				path += "?id=sweep"
			}
			if strings.HasSuffix(rt.pattern, "{key}/update") {
				path += "?id=none"
			}
			if strings.HasSuffix(path, "/point") {
				path += "?to=last-failure"
			}
			if strings.HasSuffix(path, "/schedules/next") {
				path += "?crons=0+9+*+*+*&every=90m%2B1m&n=3"
			}
			if strings.HasSuffix(path, "/prune/preview") || strings.HasSuffix(path, "/trim/preview") {
				path += "?age=24h"
			}
			sign := "?"
			if strings.Contains(path, "?") {
				sign = "&"
			}
			r := s.get(path + sign + "payloads=show")
			if r.StatusCode == http.StatusNotFound && strings.Contains(path, "/value") || r.StatusCode == http.StatusConflict && strings.Contains(path, "/update") {
				continue // it has no such value, or has ended
			}
			if r.StatusCode == http.StatusUnprocessableEntity && strings.Contains(path, "/point") {
				continue // nothing has failed
			}
			if r.StatusCode != http.StatusOK {
				t.Errorf("%s: status %d: %s", path, r.StatusCode, r.body)
				continue
			}
			if err := types.check(types.of(rt.api.answers), r.json(t), path); err != nil {
				t.Error(err)
			}
		}
	}
}

// Numbers of 64 bits are strings, whatever their value, and payloads pass unchanged.
func TestLongNumbersAreStrings(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleOperator)})
	made := s.call("/instances/start", object{"orchestration": "Refund", "id": "big", "input": json.RawMessage(`{"n": 9007199254740993, "f": 1.0}`)})
	if made.StatusCode != http.StatusOK {
		t.Fatalf("status %d: %s", made.StatusCode, made.body)
	}
	key := made.json(t)["key"].(string)
	r := s.get("/api/v1/instances/" + key + "/history?payloads=show&wait=true")
	if !strings.Contains(r.body, `9007199254740993`) || !strings.Contains(r.body, `1.0`) {
		t.Errorf("the payload was changed: %s", r.body)
	}
	if !strings.Contains(r.body, `"id":"1"`) || !strings.Contains(r.body, `"execution":"1"`) {
		t.Errorf("numbers of 64 bits are not strings: %s", r.body)
	}
	hidden := s.get("/api/v1/instances/" + key + "/history")
	if strings.Contains(hidden.body, `"input"`) {
		t.Error("payloads are shown though nobody asked for them")
	}
}

// planned makes a schedule and a bulk job with the ID "sweep".
func (w *world) planned(s *site) {
	w.t.Helper()
	if r := s.call("/schedules/create", object{"id": "sweep", "orchestration": "Reminder", "input": 1, "crons": []string{"0 3 * * *"}}); r.StatusCode != http.StatusNoContent {
		w.t.Fatalf("creating a schedule: %d: %s", r.StatusCode, r.body)
	}
	_, err := operate.New(w.client).StartBulk(w.t.Context(), operate.BulkJob{ID: "sweep", Act: client.ActCancel, Filter: client.Filter{Orchestration: "None"}, Max: 1})
	if err != nil {
		w.t.Fatal(err)
	}
}

// Every act of the API does what the client's method does, and is in the audit under the principal.
func TestActsOfTheAPI(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	instance := func(id string) client.Description {
		t.Helper()
		d, err := w.client.Describe(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	do := func(path string, in object, want int) reply {
		t.Helper()
		r := s.call(path, in)
		if r.StatusCode != want {
			t.Errorf("%s: status %d, want %d: %s", path, r.StatusCode, want, r.body)
		}
		return r
	}
	waiting := "/instances/" + w.key("order-1006")
	do(waiting+"/suspend", object{"reason": "stocktaking"}, http.StatusNoContent)
	if d := instance("order-1006"); d.Status != client.StatusSuspended {
		t.Errorf("after suspend it is %v", d.Status)
	}
	do(waiting+"/resume", object{}, http.StatusNoContent)
	r := do(waiting+"/query", object{"query": "progress"}, http.StatusOK)
	if !strings.Contains(r.body, "waiting for approval") {
		t.Errorf("the query has answered %s", r.body)
	}
	r = do(waiting+"/update", object{"update": "address", "input": "12 Hill Road", "requestId": "move-1"}, http.StatusOK)
	if !strings.Contains(r.body, "the address of the account") {
		t.Errorf("the update has answered %s", r.body)
	}
	do(waiting+"/update", object{"update": "unknown"}, http.StatusUnprocessableEntity)
	do(waiting+"/raise", object{"event": "approval", "payload": object{"by": "ann"}, "requestId": "click-1"}, http.StatusNoContent)
	if r := s.get("/api/v1" + waiting + "/result?wait=true&payloads=show"); !strings.Contains(r.body, "12 Hill Road") {
		t.Errorf("the result is %s", r.body)
	}
	do(waiting+"/raise", object{"event": "approval"}, http.StatusConflict)
	do("/instances/"+w.key("bill-november")+"/unblock", object{}, http.StatusNoContent)
	do("/instances/"+w.key("bill-november")+"/terminate", object{"reason": "it cannot count"}, http.StatusNoContent)
	if d := instance("bill-november"); d.Status != client.StatusTerminated {
		t.Errorf("after terminate it is %v", d.Status)
	}
	do("/instances/"+w.key("reminder-ann")+"/cancel", object{}, http.StatusNoContent)
	r = do("/instances/"+w.key("refund-17")+"/restart", object{"id": "refund-17-again"}, http.StatusOK)
	if id := r.json(t)["id"]; id != "refund-17-again" {
		t.Errorf("restart has made %v", id)
	}
	do("/instances/"+w.key("order-1000")+"/fork", object{"event": 1, "id": "order-1000-again", "execution": "1"}, http.StatusOK)
	do("/instances/"+w.key("order-1000")+"/reset", object{"event": "1", "execution": "7"}, http.StatusConflict)
	if r := s.form("/queues/pause?name=carriers", url.Values{"reason": {"strike"}}); r.StatusCode != http.StatusSeeOther {
		t.Errorf("pausing a queue: %d: %s", r.StatusCode, r.body)
	}
	if r := s.get("/api/v1/queues"); !strings.Contains(r.body, "strike") {
		t.Errorf("the paused queue is not in %s", r.body)
	}
	if r := s.form("/queues/resume?name=carriers", nil); r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/queues?done=queue-resume" {
		t.Errorf("resuming a queue: %d, to %q", r.StatusCode, r.Header.Get("Location"))
	}
	do("/queues/resume", object{}, http.StatusBadRequest)
	do("/instances/"+w.key("order-1000")+"/terminate", object{"raeson": "x"}, http.StatusBadRequest)
	r = do("/jobs/start", object{"act": "cancel", "filter": "orchestration=Reminder&status=Running", "max": 5, "reason": "moving"}, http.StatusOK)
	if id, _ := r.json(t)["id"].(string); id == "" {
		t.Errorf("the job is %s", r.body)
	}
	do("/jobs/start", object{"act": "fork", "filter": "prefix=refund-17&orchestration=Refund", "max": 5, "point": 1, "prefix": "again-"}, http.StatusOK)
	until(t, func() bool {
		_, err := w.client.Describe(t.Context(), "again-refund-17")
		return err == nil
	})
	do("/jobs/start", object{"act": "reset", "filter": "orchestration=Refund", "max": 5}, http.StatusBadRequest)
	w.planned(s)
	do("/schedules/pause?id=sweep", object{"note": "holiday"}, http.StatusNoContent)
	if r := s.get("/schedules"); !strings.Contains(r.body, "holiday") {
		t.Errorf("the page of schedules lacks the note: %s", r.body)
	}
	do("/schedules/resume?id=sweep", object{}, http.StatusNoContent)
	do("/schedules/trigger?id=sweep", object{}, http.StatusOK)
	do("/schedules/backfill?id=sweep", object{"from": "2026-01-02T00:00:00Z", "to": "2026-01-04T00:00:00Z"}, http.StatusOK)
	do("/schedules/delete?id=sweep", object{}, http.StatusNoContent)
	do("/instances/"+w.key("order-1001")+"/delete", object{}, http.StatusOK)
	do("/instances/"+w.key("order-1007")+"/delete", object{}, http.StatusConflict)
	do("/instances/prune", object{"age": "1h", "limit": 10}, http.StatusBadRequest)
	do("/instances/prune", object{"age": "48h", "limit": 10}, http.StatusOK)
	do("/dead-letters/99/redrive", object{}, http.StatusNotFound)
	page, err := operate.New(w.client).Audit(t.Context(), operate.AuditFilter{Principal: "ann"}, client.Page{})
	if err != nil || len(page.Items) < 10 {
		t.Errorf("the audit has %d acts, %v", len(page.Items), err)
	}
}

// Rights are checked at the act, too: a client of a viewer does nothing even if a route let it through.
func TestHazard76_RightsAreCheckedAtTheAct(t *testing.T) {
	w := newWorld(t)
	viewer, err := w.client.As(client.Principal{Name: "eve", Role: client.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	w.planned(w.site(Options{Authorize: as(client.RoleAdmin)}))
	until(t, func() bool {
		d, err := w.client.Schedule("sweep").Describe(t.Context())
		return err == nil && d.Revision > 0
	})
	for _, a := range acts() {
		if reads(a.right) {
			continue
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/?name=default&owner=x&id=sweep", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.SetPathValue("key", w.key("order-1006"))
		r.SetPathValue("event", "1")
		r.SetPathValue("id", "1")
		in := input{
			"orchestration": "Refund", "event": "2", "update": "address", "message": "1", "id": "x", "execution": "1", "attempt": "1", "error": "x", "version": "1",
			"act": "cancel", "max": "1", "limit": "1", "age": "48h", "crons": "0 0 * * *", "from": "2026-01-02T00:00:00Z", "to": "2026-01-03T00:00:00Z",
			"keys": w.key("order-1006"), "starts": `[{"input": 1}]`, "rules": "48h",
		}
		switch a.name {
		case "raise":
			in["event"] = "approval"
		case "reset", "fork", "start": // another kind of to
			delete(in, "to")
		}
		c := &call{s: &noServer, r: r, client: viewer}
		if _, err := a.do(context.WithoutCancel(t.Context()), c, in); !errors.Is(err, client.ErrForbidden) {
			t.Errorf("%s of a viewer returns %v", a.path(), err)
		}
	}
}

// noServer is an empty server, for calls without a handler.
var noServer server

// What an instance waits for is shown like an attribute: in lists and on its page, as Redact leaves it, and never without access control or with
// HidePayloads.
func TestHazard161_WaitingTextsArePayloads(t *testing.T) {
	w := newWorld(t)
	const text = "approve the order of Bob?"
	redact := func(_ context.Context, p client.Principal, v Payload) (json.RawMessage, error) {
		if v.Field == "waiting" {
			return json.RawMessage(`"for ` + p.Name + `"`), nil
		}
		return v.Data, nil
	}
	key := w.key("order-1006")
	for _, path := range []string{"/instances?waiting=true", "/instances/" + key, "/instances/" + key + "/timeline", "/api/v1/instances?waiting=true", "/api/v1/instances/" + key} {
		for _, c := range []struct {
			name           string
			o              Options
			shown, missing string
		}{
			{"shown", Options{Authorize: as(client.RoleViewer)}, text, "for ann"},
			{"hidden", Options{Authorize: as(client.RoleAdmin), HidePayloads: true}, "order-1006", text},
			{"redacted", Options{Authorize: as(client.RoleAdmin), Redact: redact}, "for ann", text},
			{"without access control", Options{}, "order-1006", text},
		} {
			r := w.site(c.o).get(path)
			if r.StatusCode != http.StatusOK || !strings.Contains(r.body, c.shown) || strings.Contains(r.body, c.missing) {
				t.Errorf("%s %s: status %d: %s", c.name, path, r.StatusCode, r.body)
			}
			if strings.Contains(path, "waiting=") && strings.Contains(r.body, "order-1000") {
				t.Errorf("%s %s shows what waits for nobody", c.name, path)
			}
		}
	}
	if r := w.site(Options{Authorize: as(client.RoleViewer)}).get("/instances?waiting=true&prefix=order&system=true"); !strings.Contains(r.body, "perdure list --prefix order --waiting --system") {
		t.Error("the page does not say which command lists the same")
	}
}

// Payloads are shown to those who ask, as Redact leaves them, and never with HidePayloads.
func TestPayloads(t *testing.T) {
	w := newWorld(t)
	path := "/api/v1/instances/" + w.key("order-1000") + "?payloads=show"
	redact := func(_ context.Context, p client.Principal, v Payload) (json.RawMessage, error) {
		switch v.Field {
		case "result":
			return json.RawMessage(`"for ` + p.Name + `"`), nil
		case "customStatus":
			panic("no")
		default:
			return nil, errors.New("no")
		}
	}
	for _, c := range []struct {
		name           string
		o              Options
		shown, missing string
	}{
		{"shown", Options{Authorize: as(client.RoleViewer)}, "receipt", "for ann"},
		{"hidden", Options{Authorize: as(client.RoleAdmin), HidePayloads: true}, "order-1000", "receipt"},
		{"redacted", Options{Authorize: as(client.RoleAdmin), Redact: redact}, "for ann", "receipt"},
		{"panicked", Options{Authorize: as(client.RoleAdmin), Redact: redact}, "order-1000", "customStatus"},
	} {
		r := w.site(c.o).get(path)
		if r.StatusCode != http.StatusOK || !strings.Contains(r.body, c.shown) || strings.Contains(r.body, c.missing) {
			t.Errorf("%s: status %d: %s", c.name, r.StatusCode, r.body)
		}
	}
}
