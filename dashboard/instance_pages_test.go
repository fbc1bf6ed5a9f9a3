package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

const canary = "canary-4711"

// crash panics with a text that only some may see.
func crash(_ context.Context, n int) (int, error) { panic(fmt.Sprint(canary, " ", n)) }

func large(_ context.Context, n int) (string, error) { return strings.Repeat("x", n), nil }

// crashing calls crash twice, and then waits for children that complete, fail and sleep.
func crashing(ctx *orchestration.Context, n int) (int, error) {
	if _, err := orchestration.CallActivity(ctx, large, n); err != nil {
		return 0, err
	}
	for range 2 {
		_, _ = orchestration.CallActivity(ctx, crash, 1, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 2, InitialInterval: time.Millisecond}))
	}
	for i := range 6 {
		orchestration.StartOrchestrationNamed[int](ctx, "Kid", i, orchestration.WithInstanceID(fmt.Sprint("kid-", i)))
	}
	_, err := orchestration.CallActivity(ctx, crash, 2, orchestration.WithRetry(orchestration.RetryPolicy{MaxAttempts: 3, InitialInterval: time.Hour}))
	return 0, err
}

func kid(ctx *orchestration.Context, n int) (int, error) {
	switch n {
	case 1:
		return 0, errors.New(canary)
	case 2:
		return 0, ctx.Sleep(time.Hour)
	}
	return n, nil
}

// newCrashing starts an instance of crashing that waits for its third call, and returns its key.
func newCrashing(t *testing.T, size int) (w *world, key string) {
	t.Helper()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	reg := runtime.NewRegistry()
	if err := errors.Join(
		runtime.AddOrchestration(reg, orchestration.Define("Crashing", crashing)), runtime.AddOrchestration(reg, orchestration.Define("Kid", kid)),
		runtime.AddActivity(reg, crash), runtime.AddActivity(reg, large),
	); err != nil {
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
	h, err := client.StartNamed[any](t.Context(), c, "Crashing", size, client.WithID("crashing"))
	if err != nil {
		t.Fatal(err)
	}
	for id, done := range map[string]func(*client.Description) bool{
		"crashing": func(d *client.Description) bool { return len(d.Activities) == 1 && d.Activities[0].Attempt == 2 },
		"kid-1":    func(d *client.Description) bool { return d.Status.Ended() },
		"kid-5":    func(d *client.Description) bool { return d.Status.Ended() },
	} {
		for mark, over := "", false; !over; {
			d, next, err := c.Follow(t.Context(), id, mark, client.FollowFor(10*time.Second))
			switch {
			case errors.Is(err, client.ErrNotFound): // its parent has not started it yet
				mark = ""
			case err != nil:
				t.Fatal(err)
			default:
				over, mark = done(&d), next
			}
		}
	}
	return &world{t, c}, h.Key().String()
}

// Texts of errors and stacks are shown to those who may see payloads, as Redact leaves them, and never without access control or with HidePayloads.
func TestHazard161_TextsOfErrorsArePayloads(t *testing.T) {
	w, key := newCrashing(t, 10)
	redact := func(_ context.Context, p client.Principal, v Payload) (json.RawMessage, error) {
		if v.Field == errorField {
			return json.RawMessage(`"error for ` + p.Name + `"`), nil
		}
		return v.Data, nil
	}
	for _, path := range []string{"/instances/" + key, "/instances/" + key + "/timeline", "/instances/" + key + "/history", "/api/v1/instances/" + key, "/api/v1/instances/" + key + "/history"} {
		for _, c := range []struct {
			name           string
			o              Options
			shown, missing string
		}{
			{"shown", Options{Authorize: as(client.RoleViewer)}, canary, "error for ann"},
			{"hidden", Options{Authorize: as(client.RoleAdmin), HidePayloads: true}, "hidden", canary},
			{"redacted", Options{Authorize: as(client.RoleAdmin), Redact: redact}, "error for ann", canary},
			{"without access control", Options{}, "hidden", canary},
		} {
			r := w.site(c.o).get(path)
			if r.StatusCode != http.StatusOK || !strings.Contains(r.body, c.shown) || strings.Contains(r.body, c.missing) {
				t.Errorf("%s %s: status %d, %q is there %v, %q is there %v", c.name, path, r.StatusCode, c.shown, strings.Contains(r.body, c.shown), c.missing, strings.Contains(r.body, c.missing))
			}
			if frame := "dashboard.crash\n"; c.name != "shown" && strings.Contains(r.body, frame) {
				t.Errorf("%s %s shows a stack", c.name, path)
			}
		}
	}
}

// A page shows a stack once: the user's frames, and below them those of the engine, folded.
func TestAStackIsShownOnce(t *testing.T) {
	w, key := newCrashing(t, 10)
	s := w.site(Options{Authorize: as(client.RoleViewer)})
	for _, path := range []string{"/instances/" + key, "/instances/" + key + "/history"} {
		body := html.UnescapeString(s.get(path).body)
		if n := strings.Count(body, "dashboard.crash\n"); n != 1 {
			t.Errorf("%s shows the user's frame %d times", path, n)
		}
		id := regexp.MustCompile(`id="(stack-[0-9a-f]+)"`).FindStringSubmatch(body)
		if id == nil || !strings.Contains(body, `href="#`+id[1]+`"`) {
			t.Errorf("%s: nothing leads to the stack %v", path, id)
			continue
		}
		_, stack, _ := strings.Cut(body, id[0])
		user, engine, folded := strings.Cut(stack, "<details>")
		engine, _, _ = strings.Cut(engine, "</details>")
		if !folded || !strings.Contains(user, "instance_pages_test.go:") || strings.Contains(user, "debug.Stack") || !strings.Contains(engine, "debug.Stack") ||
			strings.Contains(engine, "dashboard.crash") || strings.Contains(stack, "+0x") {
			t.Errorf("%s: frames of the user are %q, of the engine %q", path, user, engine)
		}
	}
}

// The history has the clock and the offset of each event, says once that payloads are hidden, and leads from points of reset to the forms.
func TestHistorySaysWhenAndWhereFrom(t *testing.T) {
	w, key := newCrashing(t, 100_000)
	s := w.site(Options{Authorize: as(client.RoleAdmin)})
	path := "/instances/" + key + "/history"
	body := s.get(path).body
	if n := strings.Count(body, "Payloads are hidden"); n != 1 || !strings.Contains(body, "payloads=show") {
		t.Errorf("the page says %d times that payloads are hidden", n)
	}
	_, row, _ := strings.Cut(body, `id="e-2"`)
	row, _, _ = strings.Cut(row, "</tr>")
	if !regexp.MustCompile(`<time datetime="[^"]+" data-clock>.*</time><br><span class="help">&#43;`).MatchString(row) {
		t.Errorf("event 2 has no clock and offset: %s", row)
	}
	rest := s.get(path + "?from=3").body
	if !regexp.MustCompile(`data-clock>[^<]*</time><br><span class="help">&#43;`).MatchString(rest) {
		t.Error("a page that begins later has no offsets")
	}
	links := regexp.MustCompile(`href="(/instances/[^"]+/(reset|fork)\?event=(\d+)&amp;execution=1)"`).FindAllStringSubmatch(row, -1)
	if len(links) != 2 || links[0][3] != "3" {
		t.Fatalf("the end of event 2 is no point: %v", links)
	}
	for _, link := range links {
		form := s.get(html.UnescapeString(link[1]))
		if form.StatusCode != http.StatusOK || !strings.Contains(form.body, `name="event" value="3"`) || !strings.Contains(form.body, `name="execution" value="1"`) {
			t.Errorf("%s: status %d: %s", link[1], form.StatusCode, form.body)
		}
	}
	if viewer := w.site(Options{Authorize: as(client.RoleViewer)}).get(path).body; strings.Contains(viewer, "/reset?") || strings.Contains(viewer, "/fork?") {
		t.Error("a viewer is offered a reset")
	}
	shown := s.get(path + "?payloads=show").body
	whole := regexp.MustCompile(`<a href="([^"]+)">Open all of it as JSON</a>`).FindStringSubmatch(shown)
	if whole == nil {
		t.Fatalf("a payload that is cut leads nowhere: %d bytes", len(shown))
	}
	if r := s.get(html.UnescapeString(whole[1])); r.StatusCode != http.StatusOK || !strings.Contains(r.body, strings.Repeat("x", 100_000)) {
		t.Errorf("%s: status %d, %d bytes", whole[1], r.StatusCode, len(r.body))
	}
}

// Children that run come first, then failed ones; their page counts them.
func TestChildrenInOrder(t *testing.T) {
	w, key := newCrashing(t, 10)
	s := w.site(Options{Authorize: as(client.RoleViewer)})
	for _, path := range []string{"/instances/" + key, "/instances/" + key + "/children"} {
		body := s.get(path).body
		if path == "/instances/"+key {
			_, body, _ = strings.Cut(body, `id="tree"`)
			body, _, _ = strings.Cut(body, "</section>")
		}
		var got []string
		for _, m := range regexp.MustCompile(`<bdi>(kid-\d)</bdi>`).FindAllStringSubmatch(body, -1) {
			got = append(got, m[1])
		}
		if len(got) != 6 || got[0] != "kid-2" || got[1] != "kid-1" {
			t.Errorf("%s has the children %v", path, got)
		}
		_, counts, _ := strings.Cut(body, `class="counts"`)
		counts = strings.Join(strings.Fields(regexp.MustCompile(`<[^>]*>`).ReplaceAllString(counts, " ")), " ")
		if !strings.Contains(counts, "Running 1 Failed 1 Completed 4") {
			t.Errorf("%s counts %.200s", path, counts)
		}
	}
	if r := s.get("/instances/" + key + "/children?cursor=9.x"); r.StatusCode != http.StatusBadRequest {
		t.Errorf("a wrong cursor: status %d", r.StatusCode)
	}
	if r := s.get("/instances/" + w.key("kid-0") + "/children"); !strings.Contains(r.body, "There are no children") {
		t.Errorf("without children: %s", r.body)
	}
}

// The page of a timeline stays live while the history is short, and draws other executions.
func TestTimelinePage(t *testing.T) {
	w, key := newCrashing(t, 10)
	s := w.site(Options{Authorize: as(client.RoleViewer)})
	r := s.get("/instances/" + key + "/timeline")
	for _, text := range []string{"data-live", "perdure timeline crashing", `<rect class="whole failed"`, `<rect class="backoff"`, "kid-2", "attempt 2"} {
		if !strings.Contains(r.body, text) {
			t.Errorf("the timeline lacks %q", text)
		}
	}
	again := s.get("/instances/"+key+"/timeline", header(fragmentHeader, "1"), header("If-None-Match", r.Header.Get("ETag")))
	if again.StatusCode != http.StatusNotModified {
		t.Errorf("the page changes although only time passes: status %d", again.StatusCode)
	}
	if r := s.get("/instances/" + key + "/timeline?execution=7"); r.StatusCode != http.StatusNotFound {
		t.Errorf("an execution that never was: status %d", r.StatusCode)
	}
}
