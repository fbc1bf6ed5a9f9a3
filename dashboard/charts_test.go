package dashboard

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// fleet runs a node for five minutes in which one instance fails, in virtual time, and leaves the store without a node for five more.
func fleet(t *testing.T) *world {
	t.Helper()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	reg := runtime.NewRegistry()
	err := runtime.AddOrchestration(reg, orchestration.Define("Order<b>", func(*orchestration.Context, string) (string, error) {
		return "", errors.New("a secret")
	}))
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: quiet, Name: "shop<i>"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := rt.Client(client.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.StartNamed[string](t.Context(), c, "Order<b>", "a payload")
	if err == nil {
		_, _ = h.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Minute) //nolint:forbidigo // virtual time
	if err := rt.Shutdown(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Minute) //nolint:forbidigo // virtual time
	return &world{t, c}
}

// The charts show a time without a node as a gap, not as zero, in the picture and in the table behind it. They say the same to those who do not
// see them, and have no payloads and error texts.
func TestHazard157_ChartsShowGaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := fleet(t)
		s := w.site(Options{Authorize: as(client.RoleViewer)})
		page := s.get("/")
		if page.StatusCode != http.StatusOK {
			t.Fatal(page.StatusCode, page.body)
		}
		for _, want := range []string{
			`<h2 id="figures">`, `Failures in the last hour: at least 1`, `<rect class="gap" x="0.000%"`, `aria-labelledby="ct-backlog cd-backlog"`,
			`<td class="num">unknown</td>`, `<td class="num">0</td>`, `was shut down`, `Order&lt;b&gt;`, `shop&lt;i&gt;`,
			`<a href="/?window=hour" aria-current="true">hour</a>`, `<a href="/?window=week">week</a>`,
		} {
			if !strings.Contains(page.body, want) {
				t.Errorf("the page has no %s", want)
			}
		}
		sections := regexp.MustCompile(`(?s)<section [^>]*class="figures">.*?</section>`).FindAllString(page.body, -1)
		if len(sections) != 2 {
			t.Errorf("the page has %d sections with figures, want 2", len(sections))
		}
		hidden := w.site(Options{Authorize: as(client.RoleViewer), HidePayloads: true}).get("/")
		for _, secret := range []string{"a secret", "a payload"} {
			for where, text := range map[string]string{
				"the figures on the page": strings.Join(sections, ""), "the API": s.get("/api/v1/figures").body, "the page without payloads": hidden.body,
			} {
				if strings.Contains(text, secret) {
					t.Errorf("%s: it has %q", where, secret)
				}
			}
		}
		gaps := regexp.MustCompile(`<rect class="gap" x="[0-9.]+%"`).FindAllString(page.body, -1)
		if len(gaps) != 10 { // before and after the node, in each of five charts
			t.Errorf("%d gaps, want two in each chart: %q", len(gaps), gaps)
		}
		for _, w := range []string{"day", "week"} {
			if page := s.get("/?window=" + w); !strings.Contains(page.body, "Failures in the last "+w+": at least 1") {
				t.Errorf("the last %s: %d", w, page.StatusCode)
			}
		}
		if page := s.get("/?window=month"); page.StatusCode != http.StatusBadRequest {
			t.Errorf("an unknown window: %d", page.StatusCode)
		}
		got := s.get("/api/v1/figures?window=hour").json(t)
		points, _ := got["points"].([]any)
		first, _ := points[0].(map[string]any)
		if first["known"] != "none" || first["counts"] != nil || first["backlog"] != nil {
			t.Errorf("the first point is %v, want no counts", first)
		}
		if got := s.get("/api/v1/figures?window=year"); got.StatusCode != http.StatusBadRequest {
			t.Errorf("an unknown window: %d", got.StatusCode)
		}
	})
}
