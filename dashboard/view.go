package dashboard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/payload"
)

// fragmentHeader asks for the main part of a page only.
const fragmentHeader = "X-Perdure-Fragment"

// themeCookie keeps the choice of colours for a year.
const (
	themeCookie  = "perdure_theme"
	themeSeconds = 365 * 24 * 3600
)

// view is what a template gets.
type view struct {
	Title string
	Nav   string // the entry of the navigation that the page belongs to
	Live  bool   // it is read again every few seconds
	Note  string // what was just done
	Data  any
	Etag  string
	c     *call
}

// show sends a page, or its main part if the script of a page asks for it.
func (c *call) show(status int, name string, v view) error {
	v.c = c
	v.Live = v.Live && status == http.StatusOK
	if title := c.s.titles[c.param("done")]; title != "" {
		v.Note = title + ": done."
	}
	page := c.s.pages[name]
	var main bytes.Buffer
	if err := page.ExecuteTemplate(&main, "fragment", &v); err != nil {
		return fmt.Errorf("showing the page %s: %w", name, err)
	}
	hash := sha256.New()
	_, _ = fmt.Fprintf(hash, "%s\n%s\n%v\n", c.s.assets.hash, c.who.Name, c.who.Role)
	_, _ = hash.Write(unmoved(main.Bytes()))
	v.Etag = `"` + hex.EncodeToString(hash.Sum(nil)[:12]) + `"`
	if v.Live {
		c.w.Header().Set("ETag", v.Etag)
	}
	if c.r.Header.Get(fragmentHeader) != "" {
		if v.Live && c.r.Header.Get("If-None-Match") == v.Etag {
			c.w.WriteHeader(http.StatusNotModified)
			return nil
		}
		c.send(status, "text/html; charset=utf-8", bytes.NewBuffer(plain(main.Bytes())))
		return nil
	}
	c.stacks = nil // the page is made anew
	var all bytes.Buffer
	if err := page.ExecuteTemplate(&all, "layout.html", &v); err != nil {
		return fmt.Errorf("showing the page %s: %w", name, err)
	}
	c.send(status, "text/html; charset=utf-8", bytes.NewBuffer(plain(all.Bytes())))
	return nil
}

// unmoved returns a page without the timeline, whose axis moves with each second. All else that it shows is in the rest of the page.
func unmoved(page []byte) []byte {
	before, rest, found := bytes.Cut(page, []byte(`<section aria-labelledby="timeline">`))
	if _, after, ends := bytes.Cut(rest, []byte("</section>")); found && ends {
		return slices.Concat(before, after)
	}
	return page
}

// failPage sends an error as a page.
func (c *call) failPage(status int, text string) {
	v := view{Title: http.StatusText(status), Data: map[string]any{"Status": status, "Text": text}}
	if c.show(status, "error", v) != nil {
		http.Error(c.w, http.StatusText(status), status)
	}
}

// Root returns the prefix of all links.
func (v *view) Root() string { return v.c.s.o.Prefix }

// Asset returns the path of an asset.
func (v *view) Asset(name string) string { return v.c.s.assets.url(v.c.s.o.Prefix, name) }

// Theme returns the chosen colours: dark, light, or auto for those of the system.
func (v *view) Theme() string {
	if cookie, err := v.c.r.Cookie(themeCookie); err == nil && (cookie.Value == "dark" || cookie.Value == "light") {
		return cookie.Value
	}
	return "auto"
}

// Every returns after how many seconds a live page is read again. Lists cost the store more than an instance, and change less under one's eyes.
func (v *view) Every() int {
	if v.c.r.PathValue("key") != "" {
		return 3
	}
	return 5
}

// Who returns the principal, if it is not anonymous.
func (v *view) Who() string {
	if v.c.s.authorize == nil {
		return ""
	}
	return v.c.who.Name
}

// Role returns the principal's role.
func (v *view) Role() string { return v.c.who.Role.String() }

// Known reports whether the request has a principal.
func (v *view) Known() bool { return v.c.client != nil }

// Open reports whether the dashboard has no access control.
func (v *view) Open() bool { return v.c.s.authorize == nil }

// ReadOnly reports whether nobody may change anything.
func (v *view) ReadOnly() bool { return v.c.s.o.ReadOnly }

// CanLogOut reports whether the principal has a session of the dashboard.
func (v *view) CanLogOut() bool { return v.c.s.o.Sessions != nil && v.Known() }

// Here returns the page's own path and query.
func (v *view) Here() string { return v.c.here() }

// May reports whether the principal may do that.
func (v *view) May(right string) bool { return v.c.may(client.Act(right)) }

// Param returns a parameter of the query.
func (v *view) Param(name string) string { return v.c.param(name) }

// Has reports whether the query has a parameter with the value.
func (v *view) Has(name, value string) bool {
	return slices.Contains(v.c.r.URL.Query()[name], value)
}

// With returns the page's own address with a parameter changed; an empty value removes it.
func (v *view) With(name, value string) string {
	q := v.c.r.URL.Query()
	q.Del("done")
	if value == "" {
		q.Del(name)
	} else {
		q.Set(name, value)
	}
	u := url.URL{Path: v.c.r.URL.Path, RawQuery: q.Encode()}
	return u.String()
}

// Text returns a text of an error as the principal may see it.
func (v *view) Text(s string) string { return v.c.text(s) }

// Part returns a text of which the store may have the beginning only.
func (v *view) Part(s string) string { return v.c.part(s) }

// shownPayload is a payload on a page.
type shownPayload struct {
	Text   string
	Cut    bool
	Hidden bool
	Size   int
	Whole  string // the address at which the API returns all of it; "": there is none
}

// Payload returns a payload as the page shows it; nil if there is none.
func (v *view) Payload(name, of string, data json.RawMessage) *shownPayload {
	if len(data) == 0 {
		return nil
	}
	shown := v.c.reveal(Payload{Field: name, Name: of, Data: data})
	if shown == nil {
		return &shownPayload{Hidden: true, Size: len(data)}
	}
	text, cut := payload.Pretty(shown, maxShown)
	return &shownPayload{Text: string(text), Cut: cut, Size: len(data)}
}

// PayloadAt is Payload for one that the API returns in whole at a path.
func (v *view) PayloadAt(path, name, of string, data json.RawMessage) *shownPayload {
	shown := v.Payload(name, of, data)
	if shown != nil && shown.Cut {
		shown.Whole = v.Root() + apiPath + path
	}
	return shown
}

// Label returns an attribute, or "" if it is not shown.
func (v *view) Label(name string, value any) string {
	a := attributeOf(value)
	data, err := json.Marshal(a.Value)
	if err != nil {
		return ""
	}
	var text string
	if json.Unmarshal(v.c.reveal(Payload{Field: "attributes", Name: name, Data: data}), &text) != nil {
		return ""
	}
	return text
}

// WaitingText returns what an instance waits for in words, or "" if that is not shown.
func (v *view) WaitingText(orchestration string, w *client.WaitingFor) string {
	var text string
	if w == nil || json.Unmarshal(v.c.reveal(waitingPayload(orchestration, w.Text)), &text) != nil {
		return ""
	}
	return text
}

// Payloads reports whether payloads are shown, and MayShow whether they can be.
func (v *view) Payloads() bool { return v.c.payloads }

// MayShow reports whether the principal may ask for payloads.
func (v *view) MayShow() bool { return v.c.texts && !v.c.s.o.HidePayloads }

// theme sets the colours and goes back.
func (c *call) theme() error {
	choice := c.param("to")
	if choice != "dark" && choice != "light" && choice != "auto" {
		return badInput("parameter to is %q: give dark, light or auto", choice)
	}
	http.SetCookie(c.w, &http.Cookie{ //nolint:gosec // Secure where the connection is
		Name: themeCookie, Value: choice, Path: c.s.o.Prefix + "/", MaxAge: themeSeconds,
		SameSite: http.SameSiteStrictMode, HttpOnly: true, Secure: overTLS(&c.s.o, c.r),
	})
	c.redirect(local(c.param("back")))
	return nil
}

// local returns a path below the prefix, or the first page for anything that could lead elsewhere.
func local(back string) string {
	u, err := url.Parse(back)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(back, "/") || strings.HasPrefix(back, "//") || strings.ContainsAny(back, "\\\r\n\t") ||
		strings.HasPrefix(u.Path, "/login") || strings.Contains(u.Path, "..") {
		return "/"
	}
	return back
}
