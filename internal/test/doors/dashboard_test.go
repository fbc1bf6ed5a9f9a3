package doors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/dashboard"
	"github.com/perdure/perdure/internal/testkit/clienttest"
)

// makingDashboards has the doors of package dashboard.
func makingDashboards() section {
	return section{
		title: "Dashboards",
		intro: "`dashboard.Handler`, `NewSessions` and `AuthorizeHeader`.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			handler := func(o dashboard.Options) func(context.Context) error {
				return func(context.Context) error {
					_, err := dashboard.Handler(c, o)
					return err
				}
			}
			sessions := func(o dashboard.SessionOptions) func(context.Context) error {
				return func(context.Context) error {
					_, err := dashboard.NewSessions(o)
					return err
				}
			}
			header := func(h dashboard.TrustedHeader) func(context.Context) error {
				return func(context.Context) error {
					_, err := dashboard.AuthorizeHeader(h)
					return err
				}
			}
			everybody := func(*http.Request) (client.Principal, error) { return client.Principal{}, nil }
			ann := client.Principal{Name: "ann"}
			return []row{
				{"no client", func(context.Context) error {
					_, err := dashboard.Handler(nil, dashboard.Options{})
					return err
				}, clientInvalid, `making a dashboard: invalid request: there is no client: make one with client.New`, "Make the client first."},
				{"a client of a principal", func(context.Context) error {
					as, err := c.As(ann)
					if err != nil {
						return err
					}
					_, err = dashboard.Handler(as, dashboard.Options{})
					return err
				}, clientInvalid, `making a dashboard: invalid request: the client acts for a principal already: give one that Client.As has not made`, "The handler takes the rights of each principal itself."},
				{"a prefix without a slash", handler(dashboard.Options{Prefix: "ops"}), clientInvalid, `making a dashboard: invalid request: option Prefix is "ops": begin it with a slash, end it without one, and use letters, digits, '-', '_', '.' and '/'`, ""},
				{"a prefix that ends with a slash", handler(dashboard.Options{Prefix: "/ops/"}), clientInvalid, `making a dashboard: invalid request: option Prefix is "/ops/": begin it with a slash, end it without one, and use letters, digits, '-', '_', '.' and '/'`, ""},
				{"a prefix with ..", handler(dashboard.Options{Prefix: "/ops/../x"}), clientInvalid, `making a dashboard: invalid request: option Prefix is "/ops/../x": begin it with a slash, end it without one, and use letters, digits, '-', '_', '.' and '/'`, ""},
				{"`Authorize` and `Sessions`", handler(dashboard.Options{Authorize: everybody, Sessions: new(dashboard.Sessions)}), clientInvalid, `making a dashboard: invalid request: options Authorize and Sessions are both set: give one of them`, "Sessions are for services without a login of their own."},
				{"a host with a scheme", handler(dashboard.Options{Hosts: []string{"https://ops.example.com"}}), clientInvalid, `making a dashboard: invalid request: option Hosts has "https://ops.example.com": give a host name or an address without scheme and port, such as ops.example.com, or * for all`, ""},
				{"a host with a port", handler(dashboard.Options{Hosts: []string{"ops.example.com:443"}}), clientInvalid, `making a dashboard: invalid request: option Hosts has "ops.example.com:443": give a host name or an address without scheme and port, such as ops.example.com, or * for all`, ""},
				{"a host with a star in it", handler(dashboard.Options{Hosts: []string{"*.example.com"}}), clientInvalid, `making a dashboard: invalid request: option Hosts has "*.example.com": give a host name or an address without scheme and port, such as ops.example.com, or * for all`, "Name the hosts one by one."},
				{"an origin without a scheme", handler(dashboard.Options{TrustedOrigins: []string{"ops.example.com"}}), clientInvalid, `making a dashboard: invalid request: option TrustedOrigins has "ops.example.com": invalid origin "ops.example.com": scheme is required: give scheme, host and port, such as https://portal.example.com`, ""},
				{"a short token", sessions(dashboard.SessionOptions{Principal: ann, Token: "secret"}), clientInvalid, `making a dashboard: invalid request: the token has 6 bytes: give at least 16, or none for a random one`, ""},
				{"sessions of nobody", sessions(dashboard.SessionOptions{}), clientInvalid, `making a dashboard: invalid request: the principal of the sessions has no name: give SessionOptions.Principal`, "The audit needs a name."},
				{"sessions of -1 s", sessions(dashboard.SessionOptions{Principal: ann, Lifetime: -1}), clientInvalid, `making a dashboard: invalid request: the lifetime of sessions is -1ns: give more than zero, or 0 for 12h0m0s`, ""},
				{"a trusted header without a name", header(dashboard.TrustedHeader{}), clientInvalid, `making a dashboard: invalid request: the trusted header is "": give its name, such as X-Forwarded-User`, ""},
				{"the header `Host`", header(dashboard.TrustedHeader{Name: "Host"}), clientInvalid, `making a dashboard: invalid request: the trusted header is "Host": give its name, such as X-Forwarded-User`, "The caller sets it."},
				{"a trusted header from everywhere", header(dashboard.TrustedHeader{Name: "X-User"}), clientInvalid, `making a dashboard: invalid request: there is no network of a proxy: give TrustedHeader.Proxies, such as 10.0.0.7/32`, ""},
				{"a network that is none", header(dashboard.TrustedHeader{Name: "X-User", Proxies: []netip.Prefix{{}}}), clientInvalid, `making a dashboard: invalid request: the network of a proxy is not valid: give an address and a length, such as 10.0.0.7/32`, ""},
			}
		},
	}
}

// refusals are the codes of problems, as errors of rows.
var refusals = map[string]error{}

// refused returns the kind of a problem with a status and a code.
func refused(status int, code string) kind {
	name := fmt.Sprintf("%d, `%s`", status, code)
	if refusals[name] == nil {
		refusals[name] = errors.New(name)
	}
	return kind{name, refusals[name]}
}

// problem is what the API has answered.
type problem struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func (p *problem) Error() string        { return p.Detail }
func (p *problem) Is(target error) bool { return target == refused(p.Status, p.Code).err }

// askingDashboards has the doors of the HTTP API.
func askingDashboards() section {
	return section{
		title: "The HTTP API of the dashboard",
		intro: "The status and the code of the problem, and its `detail`. Instance `open` is running, `done` has ended. Pages show the same texts.",
		rows: func(t *testing.T, store *world) []row {
			c := clienttest.New(t, store, client.Options{})
			key := func(id string) string {
				h, err := client.Lookup[string](t.Context(), c, id)
				if err != nil {
					t.Fatal(err)
				}
				return h.Key().String()
			}
			as := func(o dashboard.Options, role client.Role) http.Handler {
				if role <= client.RoleAdmin {
					o.Authorize = func(*http.Request) (client.Principal, error) { return client.Principal{Name: "ann", Role: role}, nil }
				}
				o.Logger = slog.New(slog.DiscardHandler)
				h, err := dashboard.Handler(c, o)
				if err != nil {
					t.Fatal(err)
				}
				return h
			}
			ask := func(h http.Handler, method, path, body string, change ...func(*http.Request)) func(context.Context) error {
				return func(ctx context.Context) error {
					r := httptest.NewRequestWithContext(ctx, method, "http://localhost/api/v1"+path, strings.NewReader(body))
					r.Header.Set("Content-Type", "application/json")
					for _, c := range change {
						c(r)
					}
					w := httptest.NewRecorder()
					h.ServeHTTP(w, r)
					p := &problem{}
					if w.Code < http.StatusBadRequest {
						return nil
					}
					if err := json.Unmarshal(w.Body.Bytes(), p); err != nil {
						return fmt.Errorf("%s is no problem: %w", w.Body.String(), err)
					}
					return p
				}
			}
			admin, viewer, nobody := as(dashboard.Options{}, client.RoleAdmin), as(dashboard.Options{}, client.RoleViewer), as(dashboard.Options{}, 99)
			get := func(path string) func(context.Context) error { return ask(admin, http.MethodGet, path, "") }
			post := func(path, body string) func(context.Context) error { return ask(admin, http.MethodPost, path, body) }
			on := "/instances/" + key("open")
			const many = 101
			keys := make([]string, many)
			for i := range keys {
				keys[i] = fmt.Sprintf("%q", fmt.Sprintf("01234567-0123-0123-0123-%012d", i))
			}
			bad, gone := refused(400, "invalid"), refused(404, "not-found")
			return []row{
				{"another host", ask(admin, http.MethodGet, "/nodes", "", func(r *http.Request) { r.Host = "evil.example" }), refused(421, "host"), `requests to the host "evil.example" are refused: open the dashboard by a name that it is configured for, or add this one to its hosts`, "Add the name to `Options.Hosts`, if it is yours."},
				{"a change from a page of another site", ask(admin, http.MethodPost, on+"/cancel", "{}", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }), refused(403, "cross-origin"), `the request comes from a page of another origin: use the dashboard's own pages, or add the origin to its trusted ones`, ""},
				{"a proxy before a dashboard without access control", ask(nobody, http.MethodGet, "/nodes", "", func(r *http.Request) { r.Header.Set("Via", "1.1 x") }), refused(403, "proxy"), `the request came through a proxy (header Via), and the dashboard has no access control: configure Authorize`, ""},
				{"a change without access control", ask(nobody, http.MethodPost, on+"/cancel", "{}"), refused(403, "no-access-control"), `the dashboard has no access control, so it changes nothing: configure Authorize`, ""},
				{"a change of a read-only dashboard", ask(as(dashboard.Options{ReadOnly: true}, client.RoleAdmin), http.MethodPost, on+"/cancel", "{}"), refused(403, "read-only"), `the dashboard is read-only`, ""},
				{"an act of a viewer", ask(viewer, http.MethodPost, on+"/cancel", "{}"), refused(403, "forbidden"), `ann has the role viewer, which may not cancel`, "Ask someone with the role."},
				{"no key in the path", get("/instances/open"), gone, `the path names no key of an instance: look the instance up by its ID`, ""},
				{"an unknown key", get("/instances/01234567-0123-0123-0123-0123456789ab"), gone, `describing instance with key KEY: not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check key and store."},
				{"an unknown ID", get("/lookup?id=nobody"), gone, `looking up instance "nobody": not found: it never existed or was deleted; check the ID, and that this is the right store`, "Check ID and store."},
				{"a path that leads nowhere", get("/nowhere"), gone, `there is no page at "/api/v1/nowhere"`, "See `openapi.json`."},
				{"page size 0x", get("/instances?size=0x"), bad, `parameter size is "0x": give a whole number of 64 bits`, ""},
				{"page size 1,001", get("/instances?size=1001"), bad, `parameter size is 1001: give 1 to 1000`, ""},
				{"a count of 10,001", get("/instances/count?max=10001"), bad, `parameter max is 10001: give 1 to 10000`, ""},
				{"a time that is none", get("/instances?createdAfter=yesterday"), bad, `parameter createdAfter is "yesterday": give a time such as 2026-01-02T03:04:05Z`, ""},
				{"an attribute without a value", get("/instances?attribute=region"), bad, `parameter attribute is "region": give NAME=VALUE, such as region=eu or count:int=7`, ""},
				{"an attribute that is no number", get("/instances?attribute=n:int%3Dmany"), bad, `parameter attribute is "n:int=many": the value must be a whole number of 64 bits`, ""},
				{"a parent that is no key", get("/instances?parent=open"), bad, `parameter parent is "open": give the key of an instance`, ""},
				{"a body that is no JSON", post(on+"/cancel", "reason=x"), bad, `the body must be a JSON object: invalid character 'r' looking for beginning of value`, ""},
				{"a body with something behind it", post(on+"/cancel", "{} {}"), bad, `the body has something behind the JSON object`, ""},
				{"another content type", ask(admin, http.MethodPost, on+"/cancel", "x", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }), refused(415, "content-type"), `the content type is "text/plain": send application/json`, ""},
				{"an unknown field", post(on+"/cancel", `{"raeson": "x"}`), bad, `there is no field "raeson": see the API's document for the fields of this act`, ""},
				{"a field that is missing", post(on+"/raise", `{}`), bad, `event is missing: it is needed`, ""},
				{"a number with a fraction", post(on+"/reset", `{"event": 1.5}`), bad, `event must be a whole number of 64 bits`, ""},
				{"a reset without a point", post(on+"/reset", `{}`), bad, `event and to: give one of them`, ""},
				{"a reset to a point that was not previewed", post(on+"/reset", `{"to": "last-failure"}`), bad, `execution is missing: to needs that of the preview, so that the act meets no other one`, "Ask for `/instances/{key}/point` first."},
				{"a kind of point that is none", get("/instances/" + key("open") + "/point?to=version%3D2"), bad, `parameter to: invalid request: the kind of point is "version=2": give first-failure, last-failure, patch=ID, event=N or time=2026-01-02T03:04:05Z`, ""},
				{"a point that the history lacks", get("/instances/" + key("open") + "/point?to=last-failure"), refused(422, "no-point"), `finding the point before the last failed activity of instance with key KEY: the history has no such point: look at the history of execution 1`, "Choose an event, or another kind of point."},
				{"a duration in words", post("/instances/start", `{"orchestration": "Checkout", "delay": "soon"}`), bad, `delay must be a duration such as 90s or 1h30m`, ""},
				{"a value that is none of the choices", post("/instances/start", `{"orchestration": "Checkout", "ifExists": "maybe"}`), bad, `ifExists must be one of reject, use-existing, replace-ended, use-running`, ""},
				{"an act on an ended instance", post("/instances/"+key("done")+"/cancel", `{}`), refused(409, "ended"), `cancelling instance with key KEY: instance "done" (status Completed): instance has ended (Completed): start a new one or use another ID`, "There is nothing left to stop."},
				{"a filter with a typing error", post("/jobs/start", `{"act": "cancel", "filter": "stauts=Running", "max": 1}`), bad, `filter has "stauts", which is no filter: give the query of a list, such as status=Running&orchestration=Order`, "It would match more than you meant."},
				{"a job without a number", post("/jobs/start", `{"act": "cancel", "filter": "status=Running"}`), bad, `max is missing: it is needed`, "Give the count of a preview."},
				{"a rate that is none", post("/jobs/start", `{"act": "cancel", "max": 1, "rate": "fast"}`), bad, `rate is "fast": give a number`, ""},
				{"101 chosen instances", post("/instances/act", `{"act": "cancel", "keys": [`+strings.Join(keys, ",")+`]}`), bad, `keys has 101 instances: give at most 100, or begin a bulk job`, ""},
				{"a chosen instance without a key", post("/instances/act", `{"act": "cancel", "keys": ["open"]}`), bad, `keys has "open": give keys of instances`, ""},
				{"starts that are none", post("/instances/start-many", `{"orchestration": "Checkout", "starts": [{"name": "x"}]}`), bad, `starts must be an array of objects with the fields input, id, requestId and delay: json: unknown field "name"`, ""},
				{"no starts", post("/instances/start-many", `{"orchestration": "Checkout", "starts": []}`), bad, `starts has 0 items: give 1 to 1000`, ""},
				{"prune without an age", post("/instances/prune", `{"limit": 1}`), bad, `age is missing: it is needed`, ""},
				{"prune of an hour", post("/instances/prune", `{"age": "1h", "limit": 1}`), bad, `pruning instances: invalid request: age 1h0m0s is less than 24h0m0s, within which a repeated start must find its instance: give more, or set Young`, ""},
				{"trim of an hour", post("/instances/trim", `{"age": "1h", "limit": 1}`), bad, `age is 1h0m0s: give at least 24h0m0s`, ""},
				{"a count of what a prune of an hour would delete", get("/instances/prune/preview?age=1h"), bad, `previewing a prune: invalid request: age 1h0m0s is less than 24h0m0s, within which a repeated start must find its instance: give more, or set Young`, ""},
				{"a count with a parameter that there is not", get("/instances/prune/preview?age=48h&status=Failed"), bad, `there is no parameter "status": see the API's document for those of this path`, ""},
				{"retention without rules", post("/retention/set", `{}`), bad, `there are no rules: give rules, trim or audit, or off`, ""},
				{"retention with a rule of no age", post("/retention/set", `{"rules": ["Order=soon"]}`), bad, `rule "Order=soon": give AGE, NAME=AGE, NAME:STATUS=AGE or :STATUS=AGE, with an age such as 720h or forever`, ""},
				{"retention with a rule of no status", post("/retention/set", `{"rules": ["Order:Gone=48h"]}`), bad, `rule for "Order:Gone" has no status behind the colon: give Completed, Failed, Cancelled or Terminated, or end a name that has colons with one`, ""},
				{"a round of retention without rules", post("/retention/run", `{}`), gone, `running the retention: not found: there are no rules; set some with SetRetention`, ""},
				{"an interval that is none", get("/schedules/next?every=often"), bad, `every has "often": give a duration such as 90s or 1h30m, or 15m+30s with an offset`, ""},
				{"a preview of 1,001 times", get("/schedules/next?every=1h&n=1001"), bad, `parameter n is 1001: give 1 to 1000`, ""},
				{"a payload that is shown nowhere", ask(as(dashboard.Options{HidePayloads: true}, client.RoleAdmin), http.MethodPost, "/export", `{}`), refused(403, "payloads"), `the file has all payloads, and the dashboard hides or redacts them: use perdure export`, ""},
				{"an import of JSON", post("/import", `{}`), refused(415, "content-type"), `the content type is "application/json": send the file as application/octet-stream`, ""},
				{"an import of another file", ask(admin, http.MethodPost, "/import", "{}\n", func(r *http.Request) { r.Header.Set("Content-Type", "application/octet-stream") }), refused(400, "damaged-file"), `importing instances: the file is damaged: line 1: it does not begin with the header of an export`, "Take a file of an export."},
			}
		},
	}
}
