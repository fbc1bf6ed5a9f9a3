package dashboard

import (
	"context"
	"log/slog"
	"net/http"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// Activities are ended later over HTTP, by their tokens, and each end counts once.
func TestActivitiesByToken(t *testing.T) {
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	tokens := make(chan string, 1)
	ask := activity.Define("Ask", func(ctx context.Context, _ orchestration.None) (string, error) {
		tokens <- activity.Token(ctx)
		return "", activity.ErrParked
	})
	reg := runtime.NewRegistry()
	if err := runtime.AddActivity(reg, ask); err != nil {
		t.Fatal(err)
	}
	run := func(ctx *orchestration.Context, _ orchestration.None) (string, error) {
		return orchestration.CallActivityNamed[string](ctx, "Ask", nil, orchestration.WithCancellation(orchestration.WaitForEnd))
	}
	if err := runtime.AddOrchestration(reg, orchestration.Define("Wait", run)); err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Shutdown(context.WithoutCancel(t.Context())) })
	c, err := rt.Client(client.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, c}
	s := w.site(Options{Authorize: as(client.RoleOperator)})
	begin := func(id string) (client.Handle[string], string) {
		t.Helper()
		h, err := client.StartNamed[string](t.Context(), c, "Wait", nil, client.WithID(id))
		if err != nil {
			t.Fatal(err)
		}
		return h, <-tokens
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
	if out, err := h.Wait(t.Context()); err != nil || out != "yes" {
		t.Errorf("it ends with %q, %v", out, err)
	}
	say("complete", object{"token": token, "output": "no"}, http.StatusConflict)
	h, token = begin("two")
	say("fail", object{"token": token, "error": "nobody answers"}, http.StatusNoContent)
	if _, err := h.Wait(t.Context()); err == nil {
		t.Error("it does not fail")
	}
	say("complete", object{"token": "x"}, http.StatusBadRequest)
	h, token = begin("three")
	if err := h.Cancel(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool {
		r := s.call("/activities/heartbeat", object{"token": token})
		return r.StatusCode == http.StatusConflict && r.json(t)["code"] == "activity-cancelled"
	})
	say("cancelled", object{"token": token}, http.StatusNoContent)
	if d, err := h.Describe(t.Context()); err != nil || len(d.Activities) != 0 {
		t.Errorf("after it has stopped: %+v, %v", d.Activities, err)
	}
}
