package dashboard

import (
	"bytes"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/sample"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// world is a shop on a store in memory, and clients of it.
type world struct {
	t      *testing.T
	client *client.Client
}

// newWorld starts a shop and waits until its samples have settled.
func newWorld(t *testing.T) *world {
	t.Helper()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	reg := runtime.NewRegistry()
	if err := sample.Register(reg); err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: quiet, Name: "shop-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Shutdown(t.Context()) })
	c, err := rt.Client(client.Options{Logger: quiet})
	if err == nil {
		err = sample.Seed(t.Context(), c)
	}
	if err == nil {
		err = sample.Settle(t.Context(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, c}
}

// newStore is a world without nodes and instances.
func newStore(t *testing.T) *world {
	t.Helper()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	c, err := client.New(store, client.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return &world{t, c}
}

// as authorizes everybody as a principal of a role.
func as(role client.Role) func(*http.Request) (client.Principal, error) {
	return func(*http.Request) (client.Principal, error) { return client.Principal{Name: "ann", Role: role}, nil }
}

// site is a handler under test.
type site struct {
	t *testing.T
	h http.Handler
	o Options
}

func (w *world) site(o Options) *site {
	w.t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	h, err := Handler(w.client, o)
	if err != nil {
		w.t.Fatal(err)
	}
	return &site{w.t, h, o}
}

// reply is a response as tests look at it.
type reply struct {
	*http.Response

	body string
}

func (s *site) do(method, path, kind, body string, change ...func(*http.Request)) reply {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), method, "http://localhost"+s.o.Prefix+path, strings.NewReader(body))
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	for _, c := range change {
		c(r)
	}
	w := httptest.NewRecorder()
	s.h.ServeHTTP(w, r)
	res := w.Result()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return reply{res, string(data)}
}

func (s *site) get(path string, change ...func(*http.Request)) reply {
	s.t.Helper()
	return s.do(http.MethodGet, path, "", "", change...)
}

// form sends a form of ann's.
func (s *site) form(path string, values url.Values, change ...func(*http.Request)) reply {
	s.t.Helper()
	values = maps.Clone(values)
	if values == nil {
		values = url.Values{}
	}
	if !values.Has(principalField) {
		values.Set(principalField, "ann")
	}
	return s.post(path, values, change...)
}

// field returns what a field of the page of an act begins with.
func (s *site) field(path, name string) string {
	s.t.Helper()
	return formValue(s.t, s.get(path).body, name)
}

// formValue returns the value of a field of a page.
func formValue(t *testing.T, body, name string) string {
	t.Helper()
	m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(body)
	if m == nil {
		t.Fatalf("there is no field %s in %s", name, body)
	}
	return html.UnescapeString(m[1])
}

// post sends a form as it is.
func (s *site) post(path string, values url.Values, change ...func(*http.Request)) reply {
	s.t.Helper()
	return s.do(http.MethodPost, path, "application/x-www-form-urlencoded", values.Encode(), change...)
}

func (s *site) call(path string, in any) reply {
	s.t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do(http.MethodPost, "/api/v1"+path, "application/json", string(data))
}

// json reads the body as JSON; numbers stay as they are written.
func (r reply) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	d := json.NewDecoder(bytes.NewReader([]byte(r.body)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, r.body)
	}
	return v
}

// key returns the key of the instance with an ID.
func (w *world) key(id string) string {
	w.t.Helper()
	h, err := client.Lookup[any](w.t.Context(), w.client, id)
	if err != nil {
		w.t.Fatal(err)
	}
	return h.Key().String()
}

// header sets a header of a request.
func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Add(name, value) }
}
