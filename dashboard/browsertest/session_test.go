package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
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
