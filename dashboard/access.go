package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/perdure/perdure/client"
)

// policy is what browsers may do with a page: nothing inline, nothing from elsewhere, no frames around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'"

// secure sets the headers that every response has.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
}

// A refusal is an error with a status of HTTP. Its text is for the one who asked.
type refusal struct {
	status int
	code   string
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, code, format string, args ...any) error {
	return &refusal{status, code, fmt.Sprintf(format, args...)}
}

// admit checks what does not depend on the route: the host, proxies, and where a change comes from.
func (s *server) admit(r *http.Request) error {
	if host := hostOf(r.Host); !s.anyHost && !s.hosts[host] {
		return refuse(http.StatusMisdirectedRequest, "host",
			"requests to the host %q are refused: open the dashboard by a name that it is configured for, or add this one to its hosts", host)
	}
	if s.authorize == nil {
		if name := forwarding(r.Header); name != "" {
			return refuse(http.StatusForbidden, "proxy",
				"the request came through a proxy (header %s), and the dashboard has no access control: configure Authorize", name)
		}
	}
	if safe(r.Method) {
		return nil
	}
	if err := s.origins.Check(r); err != nil {
		return refuse(http.StatusForbidden, "cross-origin",
			"the request comes from a page of another origin: use the dashboard's own pages, or add the origin to its trusted ones")
	}
	return nil
}

// forwarding returns the name of a header that only proxies set, or "".
func forwarding(h http.Header) string {
	for name := range h {
		if name == "Forwarded" || name == "Via" || strings.HasPrefix(name, "X-Forwarded-") {
			return name
		}
	}
	return ""
}

func safe(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// enter checks a request to a route, and returns the client of its principal and whether it may see payloads.
func (s *server) enter(rt *route, r *http.Request) (who client.Principal, err error) {
	if !safe(rt.method) && rt.right != "" {
		if s.authorize == nil {
			return who, refuse(http.StatusForbidden, "no-access-control", "the dashboard has no access control, so it changes nothing: configure Authorize")
		}
		if s.o.ReadOnly && !reads(rt.right) {
			return who, refuse(http.StatusForbidden, "read-only", "the dashboard is read-only")
		}
	}
	if rt.right == "" {
		return who, nil
	}
	if who = (client.Principal{Name: "anonymous", Role: client.RoleViewer}); s.authorize != nil {
		who, err = s.authorize(r)
	}
	wrong := errors.Is(err, errWrong)
	if wrong {
		if err := s.wrongLogin(r); err != nil {
			return client.Principal{}, err
		}
	}
	if err != nil {
		if !wrong { // else it is logged
			s.logger.InfoContext(r.Context(), "request to the dashboard is not authorized", "path", r.URL.Path, "error", err)
		}
		return client.Principal{}, refuse(http.StatusUnauthorized, "unauthorized", "log in first")
	}
	if !who.May(rt.right) {
		return who, refuse(http.StatusForbidden, "forbidden", "%s has the role %v, which may not %s", who.Name, who.Role, rt.right)
	}
	return who, nil
}

// principalField of a form says who opened it, with escapes: browsers change some signs of what they send.
const principalField = "principal"

// sender refuses a form that somebody else has opened than the principal that the request has: the browser may have another session by now. A
// form that says nothing of where it comes from, as browsers always do, must say who opened it.
func (c *call) sender() error {
	switch by := c.r.PostForm.Get(principalField); {
	case by == c.who.Name || by == url.PathEscape(c.who.Name):
		return nil
	case by != "":
		if name, err := url.PathUnescape(by); err == nil {
			by = name
		}
		return refuse(http.StatusConflict, "other-principal",
			"nothing was sent: %s opened the form, and you are %s by now: open it again, and look at it", by, c.who.Name)
	case c.r.Header.Get("Origin") == "" && c.r.Header.Get("Sec-Fetch-Site") == "":
		return refuse(http.StatusForbidden, "no-origin",
			"nothing was sent: the form names neither its origin nor its %s: programs use the API, or give the field %s with their name",
			principalField, principalField)
	default:
		return nil
	}
}

// reads reports whether a right changes nothing.
func reads(a client.Act) bool { return a == client.ActView || a == client.ActQuery }

// hostsOf returns the allowed hosts.
func hostsOf(names []string) (hosts map[string]bool, anyHost bool) {
	if len(names) == 0 {
		names = []string{"localhost", "127.0.0.1", "::1"}
	}
	hosts = make(map[string]bool, len(names))
	for _, n := range names {
		hosts[hostOf(n)] = true
	}
	return hosts, slices.Contains(names, "*")
}

// protection refuses changes from pages of other origins.
func protection(origins []string) (*http.CrossOriginProtection, error) {
	p := http.NewCrossOriginProtection()
	for _, o := range origins {
		if err := p.AddTrustedOrigin(o); err != nil {
			return nil, badOption("option TrustedOrigins has %q: %w: give scheme, host and port, such as https://portal.example.com", o, err)
		}
	}
	return p, nil
}

// unauthorized reports whether an error means that somebody has to log in.
func unauthorized(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.status == http.StatusUnauthorized
}
