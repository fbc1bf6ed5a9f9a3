package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// hostile is a text that breaks out of each context that a careless page has: markup, attributes, scripts, styles, addresses, templates,
// terminals, and the direction of text.
const hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}</textarea></title>javascript:alert(3)\u202e\x1b[31m\u2066\x01\u00ad`${1}`&lt;../..?a=b#c"

// textWorld has instances whose names are all name and whose other texts are all text: one that waits, one whose activity is tried again, one that
// was blocked and terminated, and one that has failed. A queue and a schedule are paused with a reason.
func textWorld(t *testing.T, e *orchestrationtest.Env, name, text string) *world {
	t.Helper()
	try := activity.Define(name, func(context.Context, int) (int, error) { return 0, errors.New(text) })
	evil := orchestration.Define(name, func(ctx *orchestration.Context, in string) (string, error) {
		orchestration.HandleQuery(ctx, "ask", func(int) (int, error) { return 0, errors.New(text) })
		orchestration.HandleUpdate(ctx, "change", func(*orchestration.Context, int) (int, error) { return 0, errors.New(text) })
		ctx.SetStatus(map[string]string{name: in})
		orchestration.SetValue(ctx, name, text)
		orchestration.SetAttribute(ctx, name, text)
		switch in {
		case "wait":
			_, err := orchestration.Events[string](ctx, name).Receive(ctx)
			return "", err
		case "retry":
			_, err := orchestration.CallActivity(ctx, try, 0, orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: time.Hour}))
			return "", err
		case "panic":
			panic(text)
		}
		return "", orchestration.NonRetryable(&textError{text})
	}, orchestration.Version(name))
	e.Register(func(reg *runtime.Registry) error { return runtime.AddActivity(reg, try) })
	e.AllowBlocked()
	for _, in := range []string{"wait", "retry", "panic", "fail"} {
		orchestrationtest.Start(e, evil, in, client.WithID(name+in), client.WithRequestID(name))
	}
	e.Sleep(0)
	c := e.Client()
	p, err := c.As(client.Principal{Name: name, Role: client.RoleAdmin})
	if err != nil {
		t.Fatal(err)
	}
	s, err := client.CreateScheduleNamed(e.Context(), c, "nightly", client.ScheduleSpec{Crons: []string{"@hourly"}}, name, "wait")
	if err != nil {
		t.Fatal(err)
	}
	_, paused := operate.New(p).PauseQueue(e.Context(), "idle", text, operate.ConfirmWithin(0))
	if err := errors.Join(
		paused, s.Pause(e.Context(), text), c.Raise(e.Context(), name+"panic", "other "+name, text), p.Terminate(e.Context(), name+"panic", text),
	); err != nil {
		t.Fatal(err)
	}
	e.Sleep(0)
	return &world{t, c}
}

type textError struct{ text string }

func (e *textError) Error() string { return e.text }

// An instance whose names, payloads and errors are full of markup and control characters breaks no page.
func TestHostileTextsBreakNothing(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		w, text := textWorld(t, e, hostile, hostile), hostile
		s := w.site(Options{Authorize: func(*http.Request) (client.Principal, error) {
			return client.Principal{Name: text, Role: client.RoleAdmin}, nil
		}})
		q := url.QueryEscape(text)
		paths := []string{
			"/", "/instances", "/instances?orchestration=" + q + "&version=" + q + "&prefix=" + q + "&attribute=" + q, "/nodes", "/queues", "/dead-letters", "/audit",
			"/audit?principal=" + q, "/lookup?id=" + q, "/queues/pause?name=" + q, "/nodes/drain?owner=" + q, "/login?back=" + q, "/" + url.PathEscape(text), "/theme?to=" + q, "/instances?createdAfter=" + q,
			"/instances?cursor=" + q, "/instances?q=" + url.QueryEscape("@"+strconv.Quote(text)+":"+strconv.Quote(text)), "/instances?q=" + q,
			"/instances?q=status:failed+OR+is:retrying", "/failures", "/failures?group=" + q, "/failures?orchestration=" + q, "/retrying", "/retrying?queue=" + q + "&name=" + q,
			"/schedules", "/jobs", "/retention", "/?window=" + q,
		}
		for _, in := range []string{"wait", "retry", "panic", "fail"} {
			page := "/instances/" + w.key(text+in)
			paths = append(paths, page, page+"?payloads=show", page+"/history?form=full&payloads=show", page+"/history?kind="+q, page+"/raise?event="+q, page+"/query",
				page+"/timeline", page+"/timeline?execution="+q, page+"/children", page+"/children?cursor="+q)
		}
		for _, path := range paths {
			r := s.get(path)
			if r.StatusCode >= http.StatusInternalServerError {
				t.Errorf("%s: status %d", path, r.StatusCode)
			}
			for _, broken := range []string{"<script>alert", "<img", "onerror=alert(2)>", "</textarea></title>", `href="javascript`} {
				if strings.Contains(r.body, broken) {
					t.Errorf("%s lets %q through", path, broken)
				}
			}
			for _, c := range r.body {
				if c != '\n' && c != '\t' && !unicode.IsPrint(c) {
					t.Errorf("%s has the character %U", path, c)
				}
			}
			if strings.Count(r.body, "<script") != 1 && strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") && r.StatusCode < 300 {
				t.Errorf("%s has %d scripts", path, strings.Count(r.body, "<script"))
			}
		}
		r := s.get("/api/v1/instances?payloads=show")
		if !json.Valid([]byte(r.body)) || r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("the list is not JSON: %s", r.body)
		}
		if got := s.form("/instances/"+w.key(text+"wait")+"/raise", url.Values{"event": {text}, "payload": {"no JSON " + text}, principalField: {url.PathEscape(text)}}); got.StatusCode != http.StatusBadRequest || strings.Contains(got.body, "<img") {
			t.Errorf("a bad payload: %d", got.StatusCode)
		}
	}, orchestrationtest.WithRuntime(func(o *runtime.Options) { o.Name = "node <b>\u202e" }))
}
