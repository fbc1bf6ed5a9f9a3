package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
)

// apiPath is where the API stands below the prefix.
const apiPath = "/api/v1"

// longPoll bounds how long a request waits for something to change.
const longPoll = 20 * time.Second

// problem is an error in the form of RFC 9457.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   string `json:"code"` // machine-readable, such as "not-found"
}

func (c *call) problem(status int, code, text string) {
	if status == http.StatusUnauthorized {
		c.w.Header().Set("WWW-Authenticate", "Bearer")
	}
	var body bytes.Buffer
	_ = json.NewEncoder(&body).Encode(problem{"about:blank", http.StatusText(status), status, text, code}) //nolint:errchkjson // plain texts
	c.send(status, "application/problem+json", &body)
}

// answer sends a value of the client as JSON.
func (c *call) answer(v any) error {
	if v == nil {
		c.w.WriteHeader(http.StatusNoContent)
		return nil
	}
	w := c.wire()
	w.value(reflect.ValueOf(v))
	w.buf.WriteByte('\n')
	c.send(http.StatusOK, "application/json", &w.buf)
	return nil
}

func (c *call) wire() *wire {
	return &wire{payload: c.reveal, text: c.text, part: c.part, wait: c.waitText, faces: c.seesFaces()}
}

// waitingField is the Field of a Payload with the text of a wait. Like an attribute it is shown to whoever may see payloads.
const waitingField = "waiting"

// reveal returns a payload as the principal may see it, or nil.
func (c *call) reveal(p Payload) json.RawMessage {
	labels := (p.Field == "attributes" || p.Field == waitingField) && c.texts && !c.s.o.HidePayloads
	if p.Data == nil || !c.payloads && !labels {
		return nil
	}
	if c.s.o.Redact == nil {
		return p.Data
	}
	shown, err := c.redact(p)
	if err != nil || !json.Valid(shown) {
		c.s.logger.WarnContext(c.r.Context(), "payload is hidden: Options.Redact failed", "field", p.Field, "error", err)
		return nil
	}
	return shown
}

// redact calls the hook of the user. A panic hides the payload.
func (c *call) redact(p Payload) (shown json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = refuse(http.StatusInternalServerError, "internal", "Options.Redact panicked: %v", v)
		}
	}()
	return c.s.o.Redact(c.r.Context(), c.who, p)
}

// text returns a text of an error, which may quote payloads.
func (c *call) text(s string) string {
	switch {
	case s == "":
		return s
	case !c.texts:
		return "hidden: the dashboard has no access control"
	case c.s.o.HidePayloads:
		return hiddenError
	case c.s.o.Redact != nil:
		return c.redactText(s)
	}
	return s
}

// part returns a text of which the store may have the beginning only. Redact would not know half of a secret, so with it nothing is shown.
func (c *call) part(s string) string {
	if s != "" && c.texts && !c.s.o.HidePayloads && c.s.o.Redact != nil {
		return "hidden: only its beginning is stored"
	}
	return c.text(s)
}

// redactText returns the text of an error as Options.Redact leaves it.
func (c *call) redactText(s string) string {
	data, _ := json.Marshal(s) //nolint:errchkjson // a string
	shown, err := c.redact(Payload{Field: errorField, Data: data})
	var text string
	if err != nil || json.Unmarshal(shown, &text) != nil {
		c.s.logger.WarnContext(c.r.Context(), "text of an error is hidden: Options.Redact failed", "error", err)
		return hiddenError
	}
	return text
}

// userErrors are the codes of errors that have the text of one of the user's code.
//
//nolint:gochecknoglobals // constant table
var userErrors = []string{
	"rejected", "update-failed", "panicked", "query-failed", "query-panicked", "query-refused", "not-replayed", "failed", "blocked", "not-stored",
}

// errorText returns the text of an error as the principal may see it. What the user's code says may quote payloads.
func (c *call) errorText(err error) string {
	if _, code := classify(err); slices.Contains(userErrors, code) {
		return c.text(err.Error())
	}
	return err.Error()
}

// waitText returns what an instance waits for, without texts of errors if those are not shown.
func (c *call) waitText(w *client.Wait) string {
	if c.seesFaces() {
		return w.Text
	}
	switch w.Kind {
	case client.WaitRelease:
		return "to be released: it is suspended, blocked or sealed"
	case client.WaitActivity:
		return "activity " + w.Name
	default:
		return w.Text
	}
}

// flag reports whether a parameter of the query is true.
func (c *call) flag(name string) bool { return isTrue(c.r.URL.Query().Get(name)) }

func isTrue(v string) bool { return v == "true" || v == "on" || v == "1" }

// param returns a parameter of the query.
func (c *call) param(name string) string { return c.r.URL.Query().Get(name) }

// intParam returns an int64 of the query; 0 if it is not given.
func (c *call) intParam(name string) (int64, error) {
	text := c.param(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, badInput("parameter %s is %q: give a whole number of 64 bits", name, text)
	}
	return n, nil
}

// timeParam returns a time of the query; zero if it is not given.
func (c *call) timeParam(name string) (time.Time, error) { return timeOf(c.r.URL.Query(), name) }

func timeOf(q url.Values, name string) (time.Time, error) {
	text := q.Get(name)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := parseTime(text)
	if err != nil {
		return t, badInput("parameter %s is %q: give a time such as 2026-01-02T03:04:05Z", name, text)
	}
	return t, nil
}

// page returns the part of a list that the query asks for.
func (c *call) page(size int) (client.Page, error) {
	n, err := c.intParam("size")
	if err != nil {
		return client.Page{}, err
	}
	if n == 0 {
		n = int64(size)
	}
	if n < 1 || n > maxSize {
		return client.Page{}, badInput("parameter size is %d: give 1 to %d", n, maxSize)
	}
	return client.Page{Size: int(n), Cursor: c.param("cursor")}, nil
}

func statusNames() []string {
	return strings.Fields("Running Suspended Completed Failed Cancelled Terminated")
}

// maxSize bounds the parameter size.
const maxSize = 1000

// filterParams are the parameters that filter instances.
func filterParams() []field {
	return []field{
		searchParam,
		{name: "prefix", help: "Beginning of the ID."},
		{name: "orchestration", help: "Stored name."},
		{name: "status", kind: aValue, choices: statusNames(), help: "Any of them, if given several times."},
		{name: "version", help: "Version of the code. Any of them, if given several times. Empty: code without one."},
		{name: "blocked", kind: aBool},
		{name: "waiting", kind: aBool, help: "Only instances that wait with a text for people."},
		{name: "retrying", kind: aBool, help: "Only instances with a pending activity that is tried again."},
		{name: "failureGroup", help: "Only instances that failed with this group of errors. Refused where payloads are hidden."},
		{name: "parent", help: "Key of the instance that started them as children."},
		{name: "createdAfter", kind: aTime, help: "Inclusive."},
		{name: "createdBefore", kind: aTime, help: "Exclusive."},
		{name: "endedAfter", kind: aTime, help: "Inclusive."},
		{name: "endedBefore", kind: aTime, help: "Exclusive."},
		{name: "attribute", help: "NAME=TEXT, NAME:int=NUMBER, NAME:bool=true or NAME:time=TIME. All of them, if given several times."},
		{name: "replaced", kind: aBool, help: "Also instances whose ID now names a newer one."},
		{name: "system", kind: aBool, help: "Also instances of perdure itself."},
	}
}

// filterOf returns the filter of a query. emptyVersion says that an empty version means code without one.
func filterOf(q url.Values, emptyVersion bool) (f client.Filter, err error) {
	f = client.Filter{
		IDPrefix: q.Get("prefix"), Orchestration: q.Get("orchestration"), Blocked: isTrue(q.Get("blocked")), Replaced: isTrue(q.Get("replaced")),
		System: isTrue(q.Get("system")), Waiting: isTrue(q.Get("waiting")),
		Retrying: isTrue(q.Get("retrying")), FailureGroup: q.Get("failureGroup"),
	}
	for _, s := range q["status"] {
		if s != "" {
			f.Statuses = append(f.Statuses, client.Status(s))
		}
	}
	if q.Has("version") && (q.Get("version") != "" || emptyVersion) {
		f.CodeVersions = q["version"]
	}
	if parent := q.Get("parent"); parent != "" {
		if err := f.Parent.UnmarshalText([]byte(parent)); err != nil {
			return f, badInput("parameter parent is %q: give the key of an instance", parent)
		}
	}
	for name, at := range map[string]*time.Time{
		"createdAfter": &f.CreatedAfter, "createdBefore": &f.CreatedBefore, "endedAfter": &f.EndedAfter, "endedBefore": &f.EndedBefore,
	} {
		if *at, err = timeOf(q, name); err != nil {
			return f, err
		}
	}
	for _, text := range q["attribute"] {
		if text == "" {
			continue
		}
		a, err := parseAttribute(text)
		if err != nil {
			return f, err
		}
		f.Attributes = append(f.Attributes, a)
	}
	return f, nil
}

// parseAttribute parses a condition in the form of the command line: NAME=TEXT, NAME:int=NUMBER, NAME:bool=true or NAME:time=TIME.
func parseAttribute(text string) (none client.AttributeFilter, err error) {
	name, value, found := strings.Cut(text, "=")
	if !found || name == "" {
		return none, badInput("parameter attribute is %q: give NAME=VALUE, such as region=eu or count:int=7", text)
	}
	bare, kind := name, ""
	if i := strings.LastIndexByte(name, ':'); i >= 0 {
		bare, kind = name[:i], name[i+1:]
	}
	switch kind {
	case "int":
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return client.AttributeIs(bare, n), nil
		}
		return none, badInput("parameter attribute is %q: the value must be a whole number of 64 bits", text)
	case "bool":
		if b, err := strconv.ParseBool(value); err == nil {
			return client.AttributeIs(bare, b), nil
		}
		return none, badInput("parameter attribute is %q: the value must be true or false", text)
	case "time":
		if t, err := parseTime(value); err == nil {
			return client.AttributeIs(bare, t), nil
		}
		return none, badInput("parameter attribute is %q: the value must be a time such as 2026-01-02T03:04:05Z", text)
	default:
		return client.AttributeIs(name, value), nil
	}
}
