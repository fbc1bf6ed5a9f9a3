package dashboard

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/orchestrationtest"
	"github.com/perdure/perdure/runtime"
)

// hostile is a text that breaks out of each context that a careless page has: markup, attributes, scripts, styles, addresses, templates,
// terminals, and the direction of text.
const hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>{{.}}</textarea></title>javascript:alert(3)\u202e\x1b[31m\u2066\x01\u00ad`${1}`&lt;../..?a=b#c"

// hostileWorld has instances whose every text is hostile.
func hostileWorld(t *testing.T, e *orchestrationtest.Env) *world {
	t.Helper()
	evil := orchestration.Define(hostile, func(ctx *orchestration.Context, in string) (string, error) {
		ctx.SetStatus(map[string]string{hostile: in})
		orchestration.SetValue(ctx, hostile, hostile)
		orchestration.SetAttribute(ctx, hostile, hostile)
		if in == "wait" {
			_, err := orchestration.Events[string](ctx, hostile).Receive(ctx)
			return "", err
		}
		if in == "panic" {
			panic(hostile)
		}
		return "", orchestration.NonRetryable(&hostileError{})
	}, orchestration.Version(hostile))
	e.AllowBlocked()
	for _, in := range []string{"wait", "panic", "fail"} {
		orchestrationtest.Start(e, evil, in, client.WithID(hostile+in), client.WithRequestID(hostile))
	}
	e.Sleep(0)
	c := e.Client()
	if err := c.Raise(e.Context(), hostile+"wait", "other "+hostile, hostile); err != nil {
		t.Fatal(err)
	}
	p, err := c.As(client.Principal{Name: hostile, Role: client.RoleAdmin})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Terminate(e.Context(), hostile+"panic", hostile); err != nil {
		t.Fatal(err)
	}
	return &world{t, c}
}

type hostileError struct{}

func (*hostileError) Error() string { return hostile }

// An instance whose names, payloads and errors are full of markup and control characters breaks no page.
func TestHostileTextsBreakNothing(t *testing.T) {
	orchestrationtest.Run(t, func(e *orchestrationtest.Env) {
		w, text := hostileWorld(t, e), hostile
		s := w.site(Options{Authorize: func(*http.Request) (client.Principal, error) {
			return client.Principal{Name: text, Role: client.RoleAdmin}, nil
		}})
		q := url.QueryEscape(text)
		paths := []string{
			"/", "/instances", "/instances?orchestration=" + q + "&version=" + q + "&prefix=" + q + "&attribute=" + q, "/nodes", "/queues", "/dead-letters", "/audit",
			"/audit?principal=" + q, "/lookup?id=" + q, "/queues/pause?name=" + q, "/nodes/drain?owner=" + q, "/login?back=" + q, "/" + url.PathEscape(text), "/theme?to=" + q, "/instances?createdAfter=" + q,
			"/instances?cursor=" + q,
		}
		for _, in := range []string{"wait", "panic", "fail"} {
			page := "/instances/" + w.key(text+in)
			paths = append(paths, page, page+"?payloads=show", page+"/history?form=full&payloads=show", page+"/history?kind="+q, page+"/raise?event="+q, page+"/query")
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
		if got := s.form("/instances/"+w.key(text+"wait")+"/raise", url.Values{"event": {text}, "payload": {"no JSON " + text}}); got.StatusCode != http.StatusBadRequest || strings.Contains(got.body, "<img") {
			t.Errorf("a bad payload: %d", got.StatusCode)
		}
	}, orchestrationtest.WithRuntime(func(o *runtime.Options) { o.Name = "node <b>\u202e" }))
}
