package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/perdure/perdure/client"
)

// Options are the settings of a handler. The zero value serves GET requests to loopback host names, without payloads.
type Options struct {
	// Prefix is the path below which the handler is mounted, such as "/ops/perdure"; default "". Links and cookies begin with it. Do not
	// strip it from requests.
	Prefix string
	// Authorize returns the principal of a request, or an error, which refuses the request with the status 401. The text of the error is
	// logged, not shown. It must be safe for concurrent use. Nil: anybody may read what is no payload, and nobody may change anything.
	Authorize func(*http.Request) (client.Principal, error)
	// Sessions lets people log in with a token. It replaces Authorize; give one of them.
	Sessions *Sessions
	// Hosts are the host names that requests may be addressed to, without port; default: localhost, 127.0.0.1 and ::1. "*" allows all,
	// which is safe only if what runs before the handler checks the host.
	Hosts []string
	// TrustedOrigins are further origins whose pages may change something, such as "https://portal.example.com". A proxy that rewrites
	// the Host header needs the origin that browsers see.
	TrustedOrigins []string
	// ReadOnly refuses every request that could change the store, whoever sends it.
	ReadOnly bool
	// HidePayloads never shows payloads: inputs, outputs, values, heartbeats, details and texts of errors. Without it they are shown to
	// principals that ask for them, and texts of errors to all. What is hidden cannot be filtered or grouped by, either.
	HidePayloads bool
	// Redact replaces payloads before they are shown, and texts of errors as a JSON string with the Field "error"; default none. With it, excerpts and
	// groups of errors are not shown. It gets whole texts, as they are stored: of long errors of attempts and of bulk jobs the store keeps the beginning
	// only. An error hides the payload. It must be safe for concurrent use.
	Redact func(context.Context, client.Principal, Payload) (json.RawMessage, error)
	// Logger receives requests that failed for a reason of the server; default slog.Default().
	Logger *slog.Logger
	// Metrics is served under "/metrics" to viewers; default none.
	Metrics http.Handler
}

// Payload is a value of user code that is about to be shown.
type Payload struct {
	Field string // where it stands, by the name in the API, such as "input", "result" or "customStatus"
	Name  string // of what has it: an orchestration, activity, event or key; may be ""
	Data  json.RawMessage
}

// errOptions is the beginning of all errors of options.
var errOptions = errors.New("making a dashboard")

func badOption(format string, args ...any) error {
	return fmt.Errorf("%w: %w: %w", errOptions, client.ErrInvalid, fmt.Errorf(format, args...))
}

// check refuses invalid options.
func (o *Options) check(c *client.Client) error {
	switch {
	case c == nil:
		return badOption("there is no client: make one with client.New")
	case o.Prefix != "" && !validPrefix(o.Prefix):
		return badOption("option Prefix is %q: begin it with a slash, end it without one, and use letters, digits, '-', '_', '.' and '/'", o.Prefix)
	case o.Authorize != nil && o.Sessions != nil:
		return badOption("options Authorize and Sessions are both set: give one of them")
	}
	if _, has := c.Principal(); has {
		return badOption("the client acts for a principal already: give one that Client.As has not made")
	}
	for _, h := range o.Hosts {
		if h == "" || strings.ContainsAny(h, "/ @") || h != "*" && strings.Contains(h, "*") || !strings.EqualFold(hostOf(h), strings.Trim(h, "[]")) {
			return badOption("option Hosts has %q: give a host name or an address without scheme and port, such as ops.example.com, or * for all", h)
		}
	}
	return nil
}

// validPrefix reports whether a prefix is a clean path that needs no escaping.
func validPrefix(p string) bool {
	if p[0] != '/' || strings.HasSuffix(p, "/") || strings.ContainsFunc(p, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./", r)
	}) {
		return false
	}
	clean, err := url.JoinPath(p)
	return err == nil && clean == p && !slices.Contains(strings.Split(p[1:], "/"), "")
}

// hostOf returns the host of a Host header without port and brackets, in lower case.
func hostOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}
