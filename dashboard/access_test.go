package dashboard

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
)

// path returns a path of the route, with the key of an instance.
func (rt *route) path(key string) string {
	p := strings.NewReplacer("{key}", key, "{event}", "1", "{id}", "1", "{hash}", "0", "{file}", "0", "{$}", "").Replace(rt.pattern)
	if rt.pattern == "/lookup" || strings.HasSuffix(rt.pattern, "/lookup") {
		return p + "?id=order-1000"
	}
	return p
}

// Every route of the table answers every role as the table says, with and without access control and in a read-only dashboard.
func TestHazard76_EveryRouteChecksTheRole(t *testing.T) {
	w := newWorld(t)
	key := w.key("order-1000")
	type mode struct {
		name string
		o    Options
		role client.Role
		open bool
	}
	modes := []mode{{name: "open", open: true}}
	for _, role := range []client.Role{client.RoleViewer, client.RoleOperator, client.RoleAdmin} {
		modes = append(modes, mode{name: role.String(), o: Options{Authorize: as(role)}, role: role},
			mode{name: role.String() + ", read-only", o: Options{Authorize: as(role), ReadOnly: true}, role: role})
	}
	for _, m := range modes {
		s := w.site(m.o)
		for _, rt := range routes() {
			if strings.HasSuffix(rt.pattern, "/follow") {
				continue // it waits
			}
			path := rt.path(key)
			r := s.do(rt.method, path, map[string]string{http.MethodPost: "application/json"}[rt.method], "{}")
			refused := r.StatusCode == http.StatusForbidden
			may := rt.right == "" || (client.Principal{Role: m.role}).May(rt.right)
			if rt.method == http.MethodPost && rt.right != "" {
				may = may && !m.open && (!m.o.ReadOnly || rt.right == client.ActQuery)
			}
			if (strings.HasSuffix(rt.pattern, "/export") || rt.pattern == "/failures" || rt.pattern == apiPath+"/failures") && m.open {
				may = false // it has payloads
			}
			if refused == may && rt.pattern != "/login" {
				t.Errorf("%s: %s %s: status %d, and the right is %v: %s", m.name, rt.method, path, r.StatusCode, may, r.body)
			}
			if r.StatusCode >= 500 && r.StatusCode != http.StatusNotImplemented && r.StatusCode != http.StatusServiceUnavailable && r.StatusCode != http.StatusGatewayTimeout {
				t.Errorf("%s: %s %s: status %d: %s", m.name, rt.method, path, r.StatusCode, r.body)
			}
			for name, want := range map[string]string{"Content-Security-Policy": policy, "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff"} {
				if got := r.Header.Get(name); got != want {
					t.Errorf("%s %s: header %s is %q", rt.method, path, name, got)
				}
			}
		}
	}
}

// Without a principal no route shows anything, and with Authorize set nothing is shown before it agrees.
func TestHazard76_NothingWithoutAuthorization(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: func(*http.Request) (client.Principal, error) { return client.Principal{}, fmt.Errorf("no") }})
	for _, rt := range routes() {
		r := s.do(rt.method, rt.path(w.key("order-1000")), map[string]string{http.MethodPost: "application/json"}[rt.method], "{}")
		if rt.right != "" && r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s %s: status %d", rt.method, rt.pattern, r.StatusCode)
		}
		if strings.Contains(r.body, "order-1001") {
			t.Errorf("%s %s shows an instance", rt.method, rt.pattern)
		}
	}
}

// A dashboard without access control shows neither payloads nor texts of errors, changes nothing, and refuses proxies.
func TestHazard76_WithoutAccessControl(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{})
	for _, path := range []string{
		"/", "/instances/" + w.key("order-1000") + "?payloads=show", "/instances/" + w.key("refund-17"), "/instances/" + w.key("bill-november"), "/instances/" + w.key("order-1007"),
		"/instances/" + w.key("order-1000") + "/history?payloads=show&form=full", "/api/v1/instances?payloads=show", "/api/v1/instances/" + w.key("refund-17") + "?payloads=show",
		"/api/v1/instances/" + w.key("bill-november") + "/history?payloads=show", "/api/v1/instances/" + w.key("order-1000") + "/result?payloads=show",
		"/api/v1/instances/" + w.key("order-1007") + "?payloads=show",
	} {
		r := s.get(path)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: status %d", path, r.StatusCode)
		}
		for _, secret := range []string{"receipt R-", "Customer", "lamp", "IBAN", "assignment to entry", "Service Unavailable", "apac"} {
			if strings.Contains(r.body, secret) {
				t.Errorf("%s shows %q", path, secret)
			}
		}
	}
	for _, name := range []string{"Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Whatever"} {
		if r := s.get("/", header(name, "1")); r.StatusCode != http.StatusForbidden || strings.Contains(r.body, "order-") {
			t.Errorf("a request with the header %s: status %d", name, r.StatusCode)
		}
	}
}

// A page that reaches the dashboard by a name of its own, as after DNS rebinding, gets nothing, whatever it sends.
func TestHazard76_ARebornNameGetsNothing(t *testing.T) {
	w := newWorld(t)
	for _, o := range []Options{{}, {Authorize: as(client.RoleAdmin)}, {Authorize: as(client.RoleAdmin), Hosts: []string{"ops.example.com"}}} {
		s := w.site(o)
		evil := func(r *http.Request) {
			r.Host = "evil.example:7333"
			r.Header.Set("Origin", "http://evil.example:7333")
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
		for _, rt := range routes() {
			r := s.do(rt.method, rt.path(w.key("order-1006")), map[string]string{http.MethodPost: "application/json"}[rt.method], "{}", evil)
			if r.StatusCode != http.StatusMisdirectedRequest || strings.Contains(r.body, "order-1006") {
				t.Errorf("%s %s: status %d", rt.method, rt.pattern, r.StatusCode)
			}
		}
	}
	named := w.site(Options{Authorize: as(client.RoleAdmin), Hosts: []string{"Ops.Example.com"}})
	if r := named.get("/", func(r *http.Request) { r.Host = "ops.example.com.:443" }); r.StatusCode != http.StatusOK {
		t.Errorf("the configured host: status %d", r.StatusCode)
	}
}

// Pages of other origins change nothing; trusted ones may, and programs that are no browsers.
func TestHazard76_OtherOriginsChangeNothing(t *testing.T) {
	w := newWorld(t)
	s := w.site(Options{Authorize: as(client.RoleAdmin), TrustedOrigins: []string{"https://portal.example.com"}})
	path := "/instances/" + w.key("order-1006") + "/raise"
	for _, c := range []struct {
		name   string
		change func(*http.Request)
		want   int
	}{
		{"cross-site", header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		{"same-site", header("Sec-Fetch-Site", "same-site"), http.StatusForbidden},
		{"another origin without fetch metadata", header("Origin", "https://evil.example"), http.StatusForbidden},
		{"its own", header("Sec-Fetch-Site", "same-origin"), http.StatusSeeOther},
		{"trusted", header("Origin", "https://portal.example.com"), http.StatusSeeOther},
		{"no browser", func(*http.Request) {}, http.StatusSeeOther},
	} {
		if r := s.form(path, url.Values{"event": {"other"}, "payload": {"1"}}, c.change); r.StatusCode != c.want {
			t.Errorf("%s: status %d, want %d: %s", c.name, r.StatusCode, c.want, r.body)
		}
	}
}

// A trusted header counts only if it came once, and from the proxy.
func TestHazard76_TrustedHeader(t *testing.T) {
	authorize, err := AuthorizeHeader(TrustedHeader{
		Name: "X-Forwarded-User", Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/30")}, Roles: map[string]client.Role{"ann": client.RoleAdmin},
		AdmitOthers: true, Others: client.RoleViewer,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, peer string
		users      []string
		role       client.Role
		refused    bool
	}{
		{name: "an admin", peer: "10.0.0.2:99", users: []string{"ann"}, role: client.RoleAdmin},
		{name: "an IPv4 address in IPv6", peer: "[::ffff:10.0.0.2]:99", users: []string{"ann"}, role: client.RoleAdmin},
		{name: "another user", peer: "10.0.0.2:99", users: []string{"bob"}, role: client.RoleViewer},
		{name: "from elsewhere", peer: "10.0.0.9:99", users: []string{"ann"}, refused: true},
		{name: "from the same machine", peer: "127.0.0.1:99", users: []string{"ann"}, refused: true},
		{name: "twice", peer: "10.0.0.2:99", users: []string{"ann", "bob"}, refused: true},
		{name: "a list", peer: "10.0.0.2:99", users: []string{"ann, bob"}, refused: true},
		{name: "empty", peer: "10.0.0.2:99", users: []string{""}, refused: true},
		{name: "missing", peer: "10.0.0.2:99", refused: true},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-User": c.users}}
		p, err := authorize(r)
		if (err != nil) != c.refused || !c.refused && (p.Role != c.role || p.Name != c.users[0]) {
			t.Errorf("%s: %+v, %v", c.name, p, err)
		}
	}
}

// A code logs in once and in time, a token always, and log out ends the session.
func TestSessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newStore(t)
		sessions, err := NewSessions(SessionOptions{Principal: client.Principal{Name: "ann", Role: client.RoleAdmin}, Lifetime: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		s := w.site(Options{Sessions: sessions, Prefix: "/p"})
		if r := s.get("/instances?blocked=true"); r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/p/login?back=%2Finstances%3Fblocked%3Dtrue" {
			t.Fatalf("without a session: %d, %q", r.StatusCode, r.Header.Get("Location"))
		}
		if r := s.get("/api/v1/instances"); r.StatusCode != http.StatusUnauthorized || r.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("the API without a session: %d", r.StatusCode)
		}
		code := sessions.Code()
		if r := s.do(http.MethodHead, "/login?code="+code, "", ""); r.StatusCode != http.StatusForbidden {
			t.Errorf("a look at the link took the code: %d", r.StatusCode)
		}
		r := s.get("/login?code=" + code)
		if r.StatusCode != http.StatusSeeOther || len(r.Cookies()) != 1 {
			t.Fatalf("the code: %d, %v: %s", r.StatusCode, r.Cookies(), r.body)
		}
		cookie := r.Cookies()[0]
		if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/p/" {
			t.Errorf("the cookie is %v", cookie)
		}
		with := func(r *http.Request) { r.AddCookie(cookie) }
		if r := s.get("/", with); r.StatusCode != http.StatusOK {
			t.Errorf("with the session: %d", r.StatusCode)
		}
		if r := s.get("/login?code=" + code); r.StatusCode != http.StatusForbidden {
			t.Errorf("the code a second time: %d", r.StatusCode)
		}
		late := sessions.Code()
		time.Sleep(codeTime) //nolint:forbidigo // virtual
		if r := s.get("/login?code=" + late); r.StatusCode != http.StatusForbidden {
			t.Errorf("a code of ten minutes ago: %d", r.StatusCode)
		}
		if r := s.form("/logout", nil, with); r.StatusCode != http.StatusSeeOther {
			t.Errorf("log out: %d", r.StatusCode)
		}
		if r := s.get("/", with); r.StatusCode != http.StatusSeeOther {
			t.Errorf("after the log out: %d", r.StatusCode)
		}
		if r := s.form("/login", url.Values{"token": {"wrong"}}); r.StatusCode != http.StatusForbidden {
			t.Errorf("a wrong token: %d", r.StatusCode)
		}
		r = s.form("/login", url.Values{"token": {sessions.Token()}, "back": {"//evil.example/"}})
		if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/p/" {
			t.Errorf("the token: %d, to %q", r.StatusCode, r.Header.Get("Location"))
		}
		cookie = r.Cookies()[0]
		if r := s.get("/api/v1/instances", header("Authorization", "Bearer "+sessions.Token())); r.StatusCode != http.StatusOK {
			t.Errorf("a program with the token: %d", r.StatusCode)
		}
		time.Sleep(time.Hour) //nolint:forbidigo // virtual
		if r := s.get("/", with); r.StatusCode != http.StatusSeeOther {
			t.Errorf("after the session's time: %d", r.StatusCode)
		}
	})
}

// The way back after a log in never leads elsewhere.
func TestLocalPaths(t *testing.T) {
	for given, want := range map[string]string{
		"/instances?blocked=true": "/instances?blocked=true", "": "/", "//evil": "/", "https://evil/": "/", "/\\evil": "/", "javascript:alert(1)": "/",
		"/login?code=1": "/", "/a/../..//evil": "/", "/\tevil": "/", "evil": "/",
	} {
		if got := local(given); got != want {
			t.Errorf("local(%q) = %q, want %q", given, got, want)
		}
	}
}
