package dashboard

import (
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
)

// users authorizes whom a header names.
func users(r *http.Request) (client.Principal, error) {
	name := r.Header.Get("User")
	if name == "" {
		return client.Principal{}, errors.New("there is no session")
	}
	return client.Principal{Name: name, Role: client.RoleAdmin}, nil
}

// A form that one principal has opened is not sent with the session of another one, which the browser has by now, and what was typed into it is not
// shown to that one. It does not matter where the form says it comes from.
func TestHazard164_AFormIsSentByWhoOpenedIt(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: users})
	path := "/instances/" + w.key("order-1006") + "/raise"
	page := s.get(path, header("User", "ann"))
	opened := regexp.MustCompile(`<input type="hidden" name="` + principalField + `" value="([^"]*)">`).FindStringSubmatch(page.body)
	if opened == nil {
		t.Fatalf("the form does not say who opened it: %s", page.body)
	}
	form := url.Values{"event": {"other"}, "payload": {`"what ann typed"`}, principalField: {opened[1]}}
	before := describe(t, w, "order-1006")
	for what, origin := range map[string]func(*http.Request){
		"its own page": header("Sec-Fetch-Site", "same-origin"), "its own origin": header("Origin", "http://localhost"), "no origin": func(*http.Request) {},
	} {
		r := s.post(path, form, header("User", "bob"), origin)
		if r.StatusCode != http.StatusConflict || !strings.Contains(r.body, "ann opened the form, and you are bob") || strings.Contains(r.body, "what ann typed") {
			t.Errorf("%s: bob sends ann's form: status %d: %s", what, r.StatusCode, r.body)
		}
	}
	if now := describe(t, w, "order-1006"); now.UpdatedAt != before.UpdatedAt || now.InboxMessages != before.InboxMessages {
		t.Errorf("the form was sent: %+v", now)
	}
	if r := s.post(path, form, header("User", "ann"), header("Sec-Fetch-Site", "same-origin")); r.StatusCode != http.StatusSeeOther {
		t.Errorf("ann sends her form: status %d: %s", r.StatusCode, r.body)
	}
}

// A form that names no origin and comes without a session, as it may be planted, does nothing and leaves nothing: neither the page that refuses
// it, nor its cookies, nor the form after the login have anything of it. With the rights of somebody, as a proxy may give them to all that a
// browser sends, it must say whose it is.
func TestHazard164_PlantedFormsLeaveNothing(t *testing.T) {
	w := newWorld(t)
	before := describe(t, w, "order-1006")
	path := "/instances/" + w.key("order-1006") + "/raise"
	planted := url.Values{"event": {"planted-event"}, "payload": {`"planted-payload"`}, "requestId": {"planted-id"}}
	sessions, err := NewSessions(SessionOptions{Principal: client.Principal{Name: "ann", Role: client.RoleAdmin}})
	if err != nil {
		t.Fatal(err)
	}
	for what, o := range map[string]Options{"sessions": {Sessions: sessions}, "another way to log in": {Authorize: users}} {
		s := w.site(o)
		for of, form := range map[string]url.Values{"no name": planted, "a name": with(planted, principalField, "ann")} {
			if r := s.post(path, form); r.StatusCode != http.StatusUnauthorized || strings.Contains(r.body, "planted") || len(r.Cookies()) != 0 {
				t.Errorf("%s, %s: status %d, cookies %v: %s", what, of, r.StatusCode, r.Cookies(), r.body)
			}
		}
	}
	s := w.site(Options{Sessions: sessions})
	login := s.post("/login", url.Values{"token": {sessions.Token()}, "back": {path}})
	if login.StatusCode != http.StatusSeeOther || login.Header.Get("Location") != path || len(login.Cookies()) != 1 || login.Cookies()[0].SameSite != http.SameSiteStrictMode {
		t.Fatalf("the login: status %d, to %q, cookies %v", login.StatusCode, login.Header.Get("Location"), login.Cookies())
	}
	in := func(r *http.Request) { r.AddCookie(login.Cookies()[0]) }
	if r := s.get(path, in); r.StatusCode != http.StatusOK || strings.Contains(r.body, "planted") {
		t.Errorf("the form after the login: status %d: %s", r.StatusCode, r.body)
	}
	if r := s.post(path, planted, in); r.StatusCode != http.StatusForbidden || strings.Contains(r.body, "planted") {
		t.Errorf("no name, with a session: status %d: %s", r.StatusCode, r.body)
	}
	if r := w.site(Options{Authorize: as(client.RoleAdmin)}).post(path, planted); r.StatusCode != http.StatusForbidden || strings.Contains(r.body, "planted") {
		t.Errorf("no name, with the rights of a proxy: status %d: %s", r.StatusCode, r.body)
	}
	if now := describe(t, w, "order-1006"); now.UpdatedAt != before.UpdatedAt || now.InboxMessages != before.InboxMessages {
		t.Errorf("the form was sent: %+v", now)
	}
}

// with returns values with another one.
func with(values url.Values, name, value string) url.Values {
	more := url.Values{name: {value}}
	maps.Copy(more, values)
	return more
}

func describe(t *testing.T, w *world, id string) client.Description {
	t.Helper()
	d, err := w.client.Describe(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
