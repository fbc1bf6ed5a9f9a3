package dashboard

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
)

// withSessions is a site that people log in to.
func withSessions(t *testing.T, o Options) (*site, *Sessions) {
	t.Helper()
	sessions, err := NewSessions(SessionOptions{Principal: client.Principal{Name: "ann", Role: client.RoleAdmin}, Lifetime: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	o.Sessions = sessions
	return newStore(t).site(o), sessions
}

// A wrong token or code is answered late, and logged with the address that it came from. The right one is never delayed. Many wrong ones at a
// time are refused at once.
func TestWrongLoginsAreLoggedAndDelayed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		s, sessions := withSessions(t, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
		right := func() {
			t.Helper()
			began := time.Now()
			if r := s.form("/login", url.Values{"token": {sessions.Token()}}); r.StatusCode != http.StatusSeeOther || time.Since(began) > 0 {
				t.Errorf("the token: %d after %v", r.StatusCode, time.Since(began))
			}
		}
		for what, try := range map[string]func() reply{
			"token":  func() reply { return s.form("/login", url.Values{"token": {"wrong"}}) },
			"code":   func() reply { return s.get("/login?code=wrong") },
			"bearer": func() reply { return s.get("/api/v1/instances", header("Authorization", "Bearer wrong")) },
		} {
			logged.Reset()
			began := time.Now()
			if r := try(); r.StatusCode != http.StatusForbidden && r.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s: %d", what, r.StatusCode)
			}
			if took := time.Since(began); took != wrongTime {
				t.Errorf("%s: answered after %v, want %v", what, took, wrongTime)
			}
			if text := logged.String(); strings.Count(text, "level=WARN") != 1 || !strings.Contains(text, "remote=192.0.2.1:1234") || strings.Contains(text, "wrong") {
				t.Errorf("%s: the log is %s", what, text)
			}
		}
		right()
		var wrong sync.WaitGroup
		for range maxWrong {
			wrong.Go(func() { s.form("/login", url.Values{"token": {"wrong"}}) })
		}
		synctest.Wait()
		if r := s.form("/login", url.Values{"token": {"wrong"}}); r.StatusCode != http.StatusTooManyRequests {
			t.Errorf("one more wrong token: %d", r.StatusCode)
		}
		right()
		wrong.Wait()
	})
}

// Cookies are Secure wherever the browser uses TLS, also if a proxy ends it.
func TestCookiesAreSecureBehindTLS(t *testing.T) {
	s, sessions := withSessions(t, Options{Hosts: []string{"localhost", "ops.example.com"}, TrustedOrigins: []string{"https://ops.example.com", "https://portal.example.com"}})
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	for name, c := range map[string]struct {
		change []func(*http.Request)
		want   bool
	}{
		"plain":                 {nil, false},
		"plain origin":          {[]func(*http.Request){header("Origin", "http://localhost")}, false},
		"TLS":                   {[]func(*http.Request){func(r *http.Request) { r.TLS = &tls.ConnectionState{} }}, true},
		"a trusted origin":      {[]func(*http.Request){header("Origin", "https://portal.example.com")}, true},
		"a trusted host":        {[]func(*http.Request){host("ops.example.com")}, true},
		"what a proxy forwards": {[]func(*http.Request){header("X-Forwarded-Proto", "https")}, true},
	} {
		for what, r := range map[string]reply{
			"token": s.form("/login", url.Values{"token": {sessions.Token()}}, c.change...),
			"code":  s.get("/login?code="+sessions.Code(), c.change...),
			"out":   s.form("/logout", nil, c.change...),
			"theme": s.get("/theme?to=dark", c.change...),
		} {
			if len(r.Cookies()) != 1 || r.Cookies()[0].Secure != c.want {
				t.Errorf("%s, %s: %d, %v: want Secure %v", name, what, r.StatusCode, r.Cookies(), c.want)
			}
		}
	}
}

// A form that comes after the end of the session leads back to itself. Nothing is done.
func TestAFormAfterTheSessionLeadsBack(t *testing.T) {
	check := func(s *site, name, want string) {
		t.Helper()
		r := s.form("/instances/start?x=1", url.Values{"orchestration": {"Order"}, "input": {"42"}})
		if r.StatusCode != http.StatusUnauthorized || !strings.Contains(r.body, "nothing was sent") || !strings.Contains(r.body, `data-refused="true"`) ||
			!strings.Contains(r.body, want) {
			t.Errorf("%s: %d: %s", name, r.StatusCode, r.body)
		}
	}
	s, sessions := withSessions(t, Options{Prefix: "/p"})
	check(s, "sessions", `name="back" value="/instances/start?x=1"`)
	if list, err := newStore(t).client.List(t.Context(), client.Filter{}, client.Page{}); err != nil || len(list.Items) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	r := s.form("/login", url.Values{"token": {sessions.Token()}, "back": {"/instances/start?x=1"}})
	if r.Header.Get("Location") != "/p/instances/start?x=1" {
		t.Errorf("the login leads to %q", r.Header.Get("Location"))
	}
	denied := func(*http.Request) (client.Principal, error) { return client.Principal{}, io.ErrUnexpectedEOF }
	check(newStore(t).site(Options{Authorize: denied, Prefix: "/p"}), "another way to log in", `href="/p/instances/start?x=1"`)
}

// pipes are connections that a server inside a synctest bubble accepts.
type pipes struct{ conns chan net.Conn }

func (p *pipes) Accept() (net.Conn, error) {
	c, ok := <-p.conns
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (*pipes) Close() error   { return nil }
func (*pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// A body that comes too slowly ends the request, wherever it goes to: a connection is not held for ever.
func TestSlowBodiesEnd(t *testing.T) {
	for name, c := range map[string]struct {
		path string
		most time.Duration
	}{
		"login":           {"/login", loginTime},
		"act":             {"/instances/start", bodyTime},
		"without a right": {"/nodes/drain?owner=x", bodyTime},
		"no page":         {"/nowhere", bodyTime},
		"file":            {"/api/v1/import", stillTime},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				role := client.RoleAdmin
				if name == "without a right" {
					role = client.RoleViewer
				}
				o := Options{Authorize: as(role)}
				var s *site
				if name == "login" {
					s, _ = withSessions(t, Options{})
				} else {
					s = newStore(t).site(o)
				}
				listener := &pipes{make(chan net.Conn)}
				server := httptest.NewUnstartedServer(s.h).Config
				done := make(chan struct{})
				go func() { defer close(done); _ = server.Serve(listener) }()
				near, far := net.Pipe()
				listener.conns <- far
				began := time.Now()
				var sender sync.WaitGroup
				defer sender.Wait()
				sender.Go(func() {
					_, _ = io.WriteString(near, "POST "+c.path+" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100000\r\n\r\n")
					for { // a byte now and then
						if _, err := near.Write([]byte("a")); err != nil {
							return
						}
						time.Sleep(7 * time.Second) //nolint:forbidigo // virtual time
						if name == "file" {
							time.Sleep(2 * stillTime) //nolint:forbidigo // virtual time
						}
					}
				})
				_, _ = io.Copy(io.Discard, bufio.NewReader(near)) // until the server closes the connection
				if took := time.Since(began); took > c.most+10*time.Second {
					t.Errorf("the connection was held for %v, want %v at most", took, c.most)
				}
				_ = near.Close()
				close(listener.conns)
				<-done
				_ = server.Close()
			})
		})
	}
}
