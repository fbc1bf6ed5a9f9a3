package dashboard

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

func TestNumbersHaveTheirNoun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n    any
		want string
	}{
		{1, "1 try"},
		{int64(0), "0 tries"},
		{int64(12_345), "12,345 tries"},
		{client.Counted{Count: 1, Exact: true}, "1 try"},
		{client.Counted{Count: 1}, "1+ tries"},
		{client.Counted{Count: 10_000}, "10k+ tries"},
	} {
		if got, err := amountText(c.n, "try"); err != nil || got != c.want {
			t.Errorf("%+v is %q (%v), want %q", c.n, got, err, c.want)
		}
	}
	if got, err := amountText("1", "try"); err == nil {
		t.Errorf("a text is a number: %q", got)
	}
}

// What an instance waits for is said once: "a node that has ...", and not "start a node that has ..."; "an event ...", and not
// "event an event ...".
func TestWaitsAreSaidOnce(t *testing.T) {
	t.Parallel()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	reg := runtime.NewRegistry()
	receives := func(ctx *orchestration.Context, _ orchestration.None) (string, error) {
		return orchestration.Events[string](ctx, "paid").Receive(ctx)
	}
	if err := runtime.AddOrchestration(reg, orchestration.Define("Receives", receives)); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Shutdown(t.Context()) })
	c, err := rt.Client(client.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t, c}
	for name, want := range map[string]string{
		"Nobody":   `a node that has Nobody .*`,
		"Receives": `an event, an update or a condition; the query .*`,
	} {
		h, err := client.StartNamed[string](t.Context(), c, name, orchestration.None{}, client.WithID("waits-"+name))
		if err != nil {
			t.Fatal(err)
		}
		for d, err := range h.Watch(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if name == "Nobody" || d.HistoryLength > 0 {
				break
			}
		}
		body := w.site(Options{Authorize: as(client.RoleViewer)}).get("/instances/" + h.Key().String()).body
		_, after, _ := strings.Cut(body, `<h2 id="waits">Waits for</h2>`)
		section, _, _ := strings.Cut(after, "</section>")
		plain := strings.TrimSpace(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(section, ""))
		if !regexp.MustCompile(`^` + want + `$`).MatchString(plain) {
			t.Errorf("%s waits for %q, want %s", name, plain, want)
		}
	}
}
