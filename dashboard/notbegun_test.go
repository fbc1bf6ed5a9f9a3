package dashboard

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// The page of an instance and that of the queues say why an activity has not begun, also to those who do not see payloads.
func TestPagesSayWhyAnActivityHasNotBegun(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	reg, quiet := runtime.NewRegistry(), slog.New(slog.DiscardHandler)
	send := activity.Define("Send", func(context.Context, string) (string, error) { return "", nil })
	mail := orchestration.Define("Mail", func(ctx *orchestration.Context, to string) (string, error) {
		return orchestration.CallActivityNamed[string](ctx, "Send", to, orchestration.WithQueue("mail"))
	})
	if err := runtime.AddActivity(reg, send); err != nil { // OnQueue is forgotten
		t.Fatal(err)
	}
	if err := runtime.AddOrchestration(reg, mail); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Shutdown(context.WithoutCancel(t.Context())) })
	c, err := rt.Client(client.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.Start(t.Context(), c, mail, "ann", client.WithID("one"))
	if err != nil {
		t.Fatal(err)
	}
	for d, err := range h.Watch(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if len(d.Activities) > 0 {
			break
		}
	}
	w := &world{t, c}
	s := w.site(Options{})
	const want = `no node serves queue &#34;mail&#34; with activity Send; nodes run it from queue &#34;default&#34;`
	for _, path := range []string{"/instances/" + h.Key().String(), "/queues"} {
		if page := s.get(path); !strings.Contains(page.body, want) {
			t.Errorf("%s does not say %s: %s", path, want, page.body)
		}
	}
}
