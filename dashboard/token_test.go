package dashboard

import (
	"context"
	"net/http"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
)

// Activities are ended later over HTTP, by their tokens, and each end counts once.
func TestActivitiesByToken(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		last := ""
		orchestrationtest.ReplaceNamed(e, "Ask", func(ctx context.Context, _ orchestration.None) (string, error) {
			last = activity.Token(ctx)
			return "", activity.ErrParked
		}, orchestrationtest.Times(3))
		wait := orchestration.Define("Wait", func(ctx *orchestration.Context, _ orchestration.None) (string, error) {
			return orchestration.CallActivityNamed[string](ctx, "Ask", nil, orchestration.WithCancellation(orchestration.WaitForEnd))
		})
		s := (&world{t, e.Client()}).site(Options{Authorize: as(client.RoleOperator)})
		begin := func(id string) (orchestrationtest.Handle[string], string) {
			t.Helper()
			h := orchestrationtest.Start(e, wait, orchestration.None{}, client.WithID(id))
			e.Sleep(0)
			return h, last
		}
		say := func(path string, in object, want int) reply {
			t.Helper()
			r := s.call("/activities/"+path, in)
			if r.StatusCode != want {
				t.Errorf("%s: status %d, want %d: %s", path, r.StatusCode, want, r.body)
			}
			return r
		}
		h, token := begin("one")
		say("heartbeat", object{"token": token, "details": 7}, http.StatusNoContent)
		say("cancelled", object{"token": token}, http.StatusConflict)
		say("complete", object{"token": token, "output": "yes"}, http.StatusNoContent)
		if out, err := h.Wait(e.Context()); err != nil || out != "yes" {
			t.Errorf("it ends with %q, %v", out, err)
		}
		say("complete", object{"token": token, "output": "no"}, http.StatusConflict)
		h, token = begin("two")
		say("fail", object{"token": token, "error": "nobody answers"}, http.StatusNoContent)
		if _, err := h.Wait(e.Context()); err == nil {
			t.Error("it does not fail")
		}
		say("complete", object{"token": "x"}, http.StatusBadRequest)
		h, token = begin("three")
		if err := h.Cancel(e.Context(), ""); err != nil {
			t.Fatal(err)
		}
		e.Sleep(0)
		if r := say("heartbeat", object{"token": token}, http.StatusConflict); r.json(t)["code"] != "activity-cancelled" {
			t.Errorf("a cancelled activity: %s", r.body)
		}
		say("cancelled", object{"token": token}, http.StatusNoContent)
		if d, err := h.Describe(e.Context()); err != nil || len(d.Activities) != 0 {
			t.Errorf("after it has stopped: %+v, %v", d.Activities, err)
		}
	})
}
