package browsertest

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/dashboard"
)

// What somebody has typed into a form outlives the end of the session: it comes back after the login, and is sent by hand. In another form, and
// after it came back once, it does not.
func TestAFormOutlivesItsSession(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	path := "/instances/" + s.key("order-1006") + "/raise?from=page"
	b.open(path)
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="event"]`), "approval"), chromedp.SendKeys(chromedp.CSS(`[name="payload"]`), `{"by": "ann"}`))
	before := s.describe("order-1006")
	eval[string](b, `fetch("/ops/logout", {method: "POST", redirect: "manual"}).then(() => "")`)
	b.leave(chromedp.Click(chromedp.CSS("main form.card button")))
	b.says("nothing was sent")
	b.fill([2]string{"token", "a wrong token"}) // it is kept over a login that fails
	b.says("This is not the token")
	b.fill([2]string{"token", s.sessions.Token()})
	b.says("This is what you typed")
	if at := eval[string](b, "location.pathname + location.search"); at != "/ops"+path {
		t.Errorf("the login leads to %s", at)
	}
	event, text := eval[string](b, `document.querySelector('[name="event"]').value`), eval[string](b, `document.querySelector('[name="payload"]').value`)
	if event != "approval" || text != `{"by": "ann"}` {
		t.Errorf("the form has %q and %q", event, text)
	}
	if now := s.describe("order-1006"); now.UpdatedAt != before.UpdatedAt || now.InboxMessages != before.InboxMessages {
		t.Errorf("the form was sent: %+v", now)
	}
	b.open(path)
	if again := eval[string](b, `document.querySelector("main").innerText`); strings.Contains(again, "what you typed") {
		t.Error("the text comes back a second time")
	}
	b.fill([2]string{"event", "approval"}, [2]string{"payload", `{"by": "ann"}`})
	b.says("Raise an event: done")
	if left := eval[string](b, `sessionStorage.getItem("perdure-form") || ""`); left != "" {
		t.Errorf("after the act the tab keeps %q", left)
	}
}

// What one principal has typed into a form does not come back to another one who logs in, in the same tab and at the same form, and no later. A
// form that one has opened is not sent with the session of another one.
func TestAFormOfOnePrincipalStaysTheirs(t *testing.T) {
	s := newSite(t)
	h, err := dashboard.Handler(s.client, dashboard.Options{Prefix: "/ops", Logger: slog.New(slog.DiscardHandler), Authorize: func(r *http.Request) (client.Principal, error) {
		user, err := r.Cookie("user")
		if err != nil || user.Value == "" {
			return client.Principal{}, errors.New("there is no session")
		}
		return client.Principal{Name: user.Value, Role: client.RoleAdmin}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	s.url = server.URL + "/ops"
	b := s.tab(t)
	become := func(name string) { eval[string](b, `document.cookie = "user=`+name+`; path=/"`) }
	typed := func() string { return eval[string](b, `document.querySelector('[name="payload"]').value`) }
	path := "/instances/" + s.key("order-1006") + "/raise"
	before := s.describe("order-1006")
	become("ann")
	b.open(path)
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="event"]`), "approval"), chromedp.SendKeys(chromedp.CSS(`[name="payload"]`), `"of ann"`))
	become("")
	b.leave(chromedp.Click(chromedp.CSS("main form.card button")))
	b.says("nothing was sent")
	become("bob")
	b.follow("Back to the form")
	b.says("Raise an event")
	if text := typed(); text != "" {
		t.Errorf("bob sees what ann typed: %q", text)
	}
	become("ann")
	b.open(path)
	if text := typed(); text != "" {
		t.Errorf("after bob it comes back to ann: %q", text)
	}
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="event"]`), "approval"), chromedp.SendKeys(chromedp.CSS(`[name="payload"]`), `"of ann"`))
	become("bob")
	b.leave(chromedp.Click(chromedp.CSS("main form.card button")))
	b.says("ann opened the form, and you are bob")
	if now := s.describe("order-1006"); now.UpdatedAt != before.UpdatedAt || now.InboxMessages != before.InboxMessages {
		t.Errorf("bob sent ann's form: %+v", now)
	}
}

// What confirms an act, as the number of instances does that a job acts on, is typed again after the login.
func TestAConfirmationDoesNotOutliveItsSession(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	b.open("/jobs/start?filter=status%3DRunning")
	b.do(chromedp.SendKeys(chromedp.CSS(`[name="max"]`), "3"), chromedp.SendKeys(chromedp.CSS(`[name="reason"]`), "stocktaking"))
	eval[string](b, `fetch("/ops/logout", {method: "POST", redirect: "manual"}).then(() => "")`)
	b.leave(chromedp.Click(chromedp.CSS("main form.card button")))
	b.says("nothing was sent")
	b.fill([2]string{"token", s.sessions.Token()})
	b.says("This is what you typed")
	reason, number := eval[string](b, `document.querySelector('[name="reason"]').value`), eval[string](b, `document.querySelector('[name="max"]').value`)
	if reason != "stocktaking" || number != "" {
		t.Errorf("the form has the reason %q and the number %q", reason, number)
	}
}
