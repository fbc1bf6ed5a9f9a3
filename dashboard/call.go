package dashboard

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/perdure/perdure/client"
)

// call is one request.
type call struct {
	s        *server
	w        http.ResponseWriter
	r        *http.Request
	route    *route // nil: the request was refused before a route was found
	client   *client.Client
	who      client.Principal
	payloads bool            // they are shown
	texts    bool            // texts of errors are shown
	stacks   map[string]bool // that the page has shown already
}

func (s *server) newCall(w http.ResponseWriter, r *http.Request) *call {
	return &call{s: s, w: w, r: r}
}

// enter checks the right of the request's principal and makes its client.
func (c *call) enter() (err error) {
	if c.who, err = c.s.enter(c.route, c.r); err != nil || c.route.right == "" {
		return err
	}
	if c.client, err = c.s.client.As(c.who); err != nil {
		return err
	}
	c.texts = c.s.authorize != nil
	c.payloads = c.texts && !c.s.o.HidePayloads && c.r.URL.Query().Get("payloads") == "show"
	return nil
}

// may reports whether the page offers what needs a right.
func (c *call) may(a client.Act) bool {
	return c.s.authorize != nil && c.who.May(a) && (reads(a) || !c.s.o.ReadOnly)
}

// isAPI reports whether a program asks, which gets errors as JSON.
func (c *call) isAPI() bool {
	path := strings.TrimPrefix(c.r.URL.Path, c.s.o.Prefix)
	return strings.HasPrefix(path, "/api/") || path == "/metrics"
}

func (c *call) notFound() error {
	return refuse(http.StatusNotFound, "not-found", "there is no page at %q", c.r.URL.Path)
}

// redirect sends the browser to a path below the prefix.
func (c *call) redirect(path string) {
	http.Redirect(c.w, c.r, c.s.o.Prefix+path, http.StatusSeeOther) //nolint:gosec // local has checked what came with the request
}

// here returns the request's own path and query, below the prefix.
func (c *call) here() string {
	return strings.TrimPrefix(c.r.URL.RequestURI(), c.s.o.Prefix)
}

// send writes a complete response.
func (c *call) send(status int, kind string, body *bytes.Buffer) {
	c.w.Header().Set("Content-Type", kind)
	c.w.WriteHeader(status)
	_, _ = body.WriteTo(c.w) // the client may be gone
}
