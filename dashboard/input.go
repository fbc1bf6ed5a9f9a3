package dashboard

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// maxBody bounds the body of a request: a payload of 2 MiB, and as much again for its encoding in a form.
const maxBody = 8 << 20

// fieldKind is the type of an act's field.
type fieldKind uint8

const (
	aText  fieldKind = iota
	aNote            // text of several lines
	aJSON            // any JSON value
	anInt            // int64, in JSON a string or a number
	aBool            // true or false
	aTime            // of RFC 3339
	aSpan            // duration, such as 1h30m
	aList            // lines of text, in JSON an array of strings
	aValue           // one of field.choices
)

// field is an input of an act.
type field struct {
	name     string // in forms and in JSON
	kind     fieldKind
	label    string
	help     string
	value    string // that the form begins with
	choices  []string
	required bool
	shown    bool // the link to the form brings it: it says what was shown
	confirms bool // it says that somebody has seen what the page shows
}

// input has the fields of an act by name. JSON values are their text.
type input map[string]string

// readInput reads the fields from a form or from a JSON object.
func readInput(c *call, fields []field) (input, error) {
	c.r.Body = http.MaxBytesReader(c.w, c.r.Body, maxBody)
	kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	var in input
	switch {
	case err == nil && kind == "application/json":
		in, err = readJSON(c.r.Body, fields)
	case err == nil && kind == "application/x-www-form-urlencoded" && !c.isAPI():
		in, err = readForm(c, fields)
	case c.isAPI() && c.r.ContentLength == 0:
		in = input{}
		err = nil
	default:
		return nil, refuse(http.StatusUnsupportedMediaType, "content-type", "the content type is %q: send application/json", c.r.Header.Get("Content-Type"))
	}
	if err != nil {
		return nil, err
	}
	for i := range fields {
		if err := fields[i].check(in[fields[i].name]); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// readQuery reads fields from the query, in which a list has its name several times. others are further parameters.
func (c *call) readQuery(fields []field, others ...string) (input, error) {
	q, in := c.r.URL.Query(), input{}
	for i := range fields {
		f := &fields[i]
		in[f.name] = strings.TrimSpace(strings.Join(q[f.name], "\n"))
		if err := f.check(in[f.name]); err != nil {
			return nil, err
		}
		q.Del(f.name)
	}
	for name := range q {
		if name != payloadsParam.name && !slices.Contains(others, name) {
			return nil, badInput("there is no parameter %q: see the API's document for those of this path", name)
		}
	}
	return in, nil
}

func tooLarge() error {
	return refuse(http.StatusRequestEntityTooLarge, "too-large", "the request has more than %d bytes", maxBody)
}

func readForm(c *call, fields []field) (input, error) {
	if err := c.r.ParseForm(); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, tooLarge()
		}
		return nil, badInput("the form cannot be read: %v", err)
	}
	if err := c.sender(); err != nil {
		return nil, err
	}
	in := input{}
	for i := range fields {
		f := &fields[i]
		text := c.posted(f.name)
		if f.kind != aJSON && f.kind != aNote {
			text = strings.TrimSpace(text)
		}
		in[f.name] = text
	}
	return in, nil
}

// posted returns a value of the form that was sent. Browsers end lines with CR LF.
func (c *call) posted(name string) string {
	return strings.ReplaceAll(c.r.PostForm.Get(name), "\r\n", "\n")
}

func readJSON(body io.Reader, fields []field) (input, error) {
	var object map[string]json.RawMessage
	d := json.NewDecoder(body)
	if err := d.Decode(&object); err != nil {
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			return nil, tooLarge()
		}
		return nil, badInput("the body must be a JSON object: %v", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, badInput("the body has something behind the JSON object")
	}
	in := input{}
	for i := range fields {
		raw, given := object[fields[i].name]
		delete(object, fields[i].name)
		if !given || string(raw) == "null" && fields[i].kind != aJSON {
			continue
		}
		text, err := fields[i].fromJSON(raw)
		if err != nil {
			return nil, badInput("%s: %v", fields[i].name, err)
		}
		in[fields[i].name] = text
	}
	for name := range object {
		return nil, badInput("there is no field %q: see the API's document for the fields of this act", name)
	}
	return in, nil
}

// fromJSON returns a value of JSON as the text that a form would have.
func (f *field) fromJSON(raw json.RawMessage) (string, error) {
	var text string
	switch f.kind {
	case aJSON:
		return string(raw), nil
	case aBool:
		var b bool
		if err := json.Unmarshal(raw, &b); err != nil {
			return "", errors.New("give true or false")
		}
		return strconv.FormatBool(b), nil
	case aList:
		var list []string
		if err := json.Unmarshal(raw, &list); err != nil {
			return "", errors.New("give an array of strings")
		}
		return strings.Join(list, "\n"), nil
	case anInt:
		var n json.Number
		if err := json.Unmarshal(raw, &n); err == nil {
			return n.String(), nil
		}
	default:
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", errors.New("give a string")
	}
	return text, nil
}

// check refuses a text that is not of the field's kind.
func (f *field) check(text string) error {
	if text == "" {
		if f.required {
			return badInput("%s is missing: it is needed", f.name)
		}
		return nil
	}
	switch f.kind {
	case aJSON:
		if !json.Valid([]byte(text)) {
			return badInput("%s must be a JSON value, such as 42, \"text\" or {\"a\": 1}", f.name)
		}
	case anInt:
		if _, err := strconv.ParseInt(text, 10, 64); err != nil {
			return badInput("%s must be a whole number of 64 bits", f.name)
		}
	case aBool:
		if text != "true" && text != "false" && text != "on" {
			return badInput("%s must be true or false", f.name)
		}
	case aTime:
		if _, err := parseTime(text); err != nil {
			return badInput("%s must be a time such as 2026-01-02T03:04:05Z", f.name)
		}
	case aSpan:
		if _, err := time.ParseDuration(text); err != nil {
			return badInput("%s must be a duration such as 90s or 1h30m", f.name)
		}
	case aValue:
		if !slices.Contains(f.choices, text) {
			return badInput("%s must be one of %s", f.name, strings.Join(f.choices, ", "))
		}
	default:
	}
	return nil
}

func (in input) int(name string) int64 {
	n, _ := strconv.ParseInt(in[name], 10, 64) // it was checked
	return n
}

func (in input) bool(name string) bool { return in[name] == "true" || in[name] == "on" }

func (in input) time(name string) time.Time {
	t, _ := parseTime(in[name]) // it was checked
	return t
}

func (in input) list(name string) []string {
	var list []string
	for line := range strings.Lines(in[name]) {
		if line = strings.TrimSpace(line); line != "" {
			list = append(list, line)
		}
	}
	return list
}

func (in input) span(name string) time.Duration {
	d, _ := time.ParseDuration(in[name]) // it was checked
	return d
}

// json returns a payload for the client; nothing given is null.
func (in input) json(name string) json.RawMessage {
	if in[name] == "" {
		return json.RawMessage("null")
	}
	return json.RawMessage(in[name])
}

// parseTime reads a time of RFC 3339, or one of a form's field, which is UTC.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%w: %q is no time", client.ErrInvalid, text)
}

// parseKey returns the key that a text is; zero if it is none.
func parseKey(text string) (key provider.UUID) {
	if key.UnmarshalText([]byte(text)) != nil {
		return provider.UUID{}
	}
	return key
}

// key returns the key of an instance in the path.
func (c *call) key() (key provider.UUID, err error) {
	if err := key.UnmarshalText([]byte(c.r.PathValue("key"))); err != nil || key.IsZero() {
		return key, refuse(http.StatusNotFound, "not-found", "the path names no key of an instance: look the instance up by its ID")
	}
	return key, nil
}

// handle returns the handle of the instance in the path.
func (c *call) handle() (client.Handle[json.RawMessage], error) {
	key, err := c.key()
	return client.HandleOf[json.RawMessage](c.client, "", key), err
}

// number returns an int64 in the path.
func (c *call) number(name string) (int64, error) {
	n, err := strconv.ParseInt(c.r.PathValue(name), 10, 64)
	if err != nil || n < 1 {
		return 0, refuse(http.StatusNotFound, "not-found", "the path names no %s", name)
	}
	return n, nil
}

func escapeQuery(s string) string { return url.QueryEscape(s) }
