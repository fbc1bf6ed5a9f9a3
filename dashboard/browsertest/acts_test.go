package browsertest

import (
	"errors"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/perdure/perdure/client"
)

// fill fills in the fields of the page's form and sends it.
func (b *tab) fill(fields ...[2]string) {
	b.t.Helper()
	for _, f := range fields {
		b.do(chromedp.SetValue(chromedp.CSS(`main form [name="`+f[0]+`"]`), f[1]))
	}
	b.leave(chromedp.Click(chromedp.CSS("main form.card button")))
}

// leave does what leads to another page, and waits for that.
func (b *tab) leave(how step) {
	b.t.Helper()
	b.leaving(func() { b.do(how) })
}

// leaving is leave by several steps.
func (b *tab) leaving(do func()) {
	b.t.Helper()
	b.do(chromedp.SetAttributeValue(chromedp.CSS("body"), "data-left", "yes"))
	do()
	b.do(chromedp.WaitReady(chromedp.CSS("body:not([data-left]) main")))
}

// follow clicks a link of the page's main part.
func (b *tab) follow(text string) {
	b.t.Helper()
	b.leave(chromedp.Click(`//main//a[starts-with(normalize-space(.), "` + text + `")]`))
}

// says waits until the page's main part has a text.
func (b *tab) says(text string) {
	b.t.Helper()
	b.do(chromedp.WaitReady(`//main[contains(normalize-space(.), "` + text + `")]`))
}

// acts does every act on the pages, and looks for its effect in the store.
func acts(t *testing.T, s *site, b *tab) {
	t.Helper()
	on := func(id, act string, fields ...[2]string) {
		t.Helper()
		b.open("/instances/" + s.key(id))
		b.follow(act)
		b.says(id)
		b.fill(fields...)
	}
	on("order-1006", "Suspend", [2]string{"reason", "stocktaking"})
	b.says("Suspend: done")
	if d := s.describe("order-1006"); d.Status != client.StatusSuspended {
		t.Errorf("after suspend it is %v", d.Status)
	}
	on("order-1006", "Resume")
	b.says("Resume: done")
	on("order-1006", "Query", [2]string{"query", "progress"})
	b.says("waiting for approval")
	on("order-1006", "Update", [2]string{"update", "address"}, [2]string{"input", `"12 Hill Road"`})
	b.says("the address of the account")
	on("order-1006", "Raise an event", [2]string{"event", "approval"}, [2]string{"payload", "no JSON"})
	b.says("must be a JSON value")
	b.fill([2]string{"payload", `{"by": "ann"}`})
	b.says("Raise an event: done")
	s.until("order-1006", func(d *client.Description) bool { return d.Status == client.StatusCompleted })
	if out := string(s.describe("order-1006").Result); !strings.Contains(out, "12 Hill Road") {
		t.Errorf("the order ends with %s", out)
	}
	on("bill-november", "Unblock")
	b.says("Unblock: done")
	on("bill-november", "Terminate", [2]string{"reason", "it cannot count"})
	if d := s.describe("bill-november"); d.Status != client.StatusTerminated {
		t.Errorf("after terminate it is %v", d.Status)
	}
	on("reminder-ann", "Cancel")
	s.until("reminder-ann", func(d *client.Description) bool { return d.Status == client.StatusCancelled })
	on("refund-17", "Restart", [2]string{"id", "refund-again"})
	s.until("refund-again", func(d *client.Description) bool { return d.Status == client.StatusFailed })
	on("order-1000", "Fork", [2]string{"event", "3"}, [2]string{"id", "order-1000-again"})
	s.until("order-1000-again", func(d *client.Description) bool { return d.HistoryLength > 0 })
	on("order-1001", "Reset to an event", [2]string{"event", "3"}, [2]string{"reason", "wrong stock"})
	b.says("Reset to an event: done")
	if d := s.describe("order-1001"); d.Execution != 2 {
		t.Errorf("after reset the execution is %d", d.Execution)
	}
	b.open("/instances/start")
	b.fill([2]string{"orchestration", "Reminder"}, [2]string{"input", "3"}, [2]string{"id", "reminder-eve"})
	b.says("reminder-eve")
	on("reminder-eve", "Move to another version")
	b.says("Move to another version: done")

	activity := func(act string, fields ...[2]string) {
		t.Helper()
		b.open("/instances/" + s.key("order-1007/delivery"))
		b.follow(act)
		b.says("order-1007/delivery")
		b.fill(fields...)
	}
	activity("Pause", [2]string{"reason", "the carrier is on strike"})
	if a := s.describe("order-1007/delivery").Activities[0]; a.State != client.ActivityPaused {
		t.Errorf("after pause the activity is %v", a.State)
	}
	activity("Resume")
	activity("Retry now")
	activity("Complete", [2]string{"output", `"by hand"`})
	s.until("order-1007", func(d *client.Description) bool { return d.Status == client.StatusCompleted })

	b.open("/schedules/create")
	b.fill([2]string{"id", "nightly"}, [2]string{"orchestration", "Reminder"}, [2]string{"input", "1"}, [2]string{"crons", "0 3 * * *"})
	b.says("nightly")
	b.follow("Run now")
	b.fill()
	b.says("Run now: done")
	b.open("/schedules")
	b.follow("Pause")
	b.fill([2]string{"note", "holiday"})
	b.says("holiday")
	b.follow("Resume")
	b.fill()
	b.follow("Backfill")
	b.fill([2]string{"from", "2026-01-02T00:00"}, [2]string{"to", "2026-01-03T12:00"})
	b.says("Backfill: done")
	b.open("/schedules")
	b.shoot("schedules-running-wide-light")
	b.follow("Delete")
	b.fill()
	b.says("There are no schedules")

	b.open("/instances?orchestration=Reminder&status=Running")
	b.follow("Act on all that match")
	b.says("instances match")
	b.fill([2]string{"act", "suspend"}, [2]string{"max", "1"}, [2]string{"reason", "stocktaking"})
	b.says("suspend")
	b.do(chromedp.WaitReady(`//tbody//td[contains(., "done")]`))
	b.open("/instances/" + s.key("order-1004"))
	b.follow("Delete")
	b.fill()
	if _, err := s.client.Describe(t.Context(), "order-1004"); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("after delete it is still there: %v", err)
	}
	b.open("/instances/prune")
	b.says("What matches now")
	b.fill([2]string{"age", "100h"}) // the form counts anew, since its field has changed
	b.fill()
	b.says("Deleted: 0")

	b.open("/queues")
	b.follow("Pause")
	b.fill([2]string{"reason", "strike"})
	b.says("strike")
	b.follow("Resume")
	b.fill()
	b.open("/nodes")
	b.follow("Drain")
	b.fill([2]string{"reason", "new kernel"})
	b.open("/nodes")
	b.follow("Undrain")
	b.fill()
	b.open("/audit")
	b.says("the carrier is on strike")
	b.says("ann@shop")
}

// Every act is done in the browser and seen in the store.
func TestActs(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	acts(t, s, b)
	b.shoot("audit-of-acts-wide-light")
}

// Everything works without JavaScript.
func TestWithoutJavaScript(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	command(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	for _, p := range sitePages(s) {
		b.open(p[1])
		b.do(chromedp.WaitVisible(chromedp.CSS("main h1")))
	}
	b.open("/instances/" + s.key("order-1006"))
	b.follow("Raise an event")
	b.fill([2]string{"event", "approval"}, [2]string{"payload", `{"by": "ann"}`})
	b.says("Raise an event: done")
	s.until("order-1006", func(d *client.Description) bool { return d.Status == client.StatusCompleted })
	b.open("/")
	b.do(chromedp.Click(chromedp.CSS(`.themes a[title="dark"]`)), chromedp.WaitReady(chromedp.CSS(`html[data-theme="dark"]`)))
	b.do(chromedp.SetValue(chromedp.CSS("#find"), "refund-17"), chromedp.Submit(chromedp.CSS("#find")))
	b.says("IBAN unknown")
	b.do(chromedp.Click(`//button[text()="Log out"]`), chromedp.WaitVisible(chromedp.CSS(`input[name="token"]`)))
	b.do(chromedp.SetValue(chromedp.CSS(`input[name="token"]`), s.sessions.Token()), chromedp.Click(chromedp.CSS("main button")))
	b.says("Overview")
}

// press presses a key until the element that has the focus has a text.
func (b *tab) press(key, until string) {
	b.t.Helper()
	for range 60 {
		b.do(chromedp.KeyEvent(key))
		if strings.HasPrefix(eval[string](b, `document.activeElement.innerText || document.activeElement.name || ""`), until) {
			return
		}
	}
	b.t.Fatalf("the key never reached %q", until)
}

// An instance is found and terminated with the keyboard alone, and the focus can be seen at each step.
func TestKeyboard(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	b.open("/")
	b.do(chromedp.KeyEvent(kb.Tab))
	if text := eval[string](b, "document.activeElement.innerText"); text != "Skip to the content" {
		t.Errorf("the first stop is %q", text)
	}
	b.do(chromedp.KeyEvent(kb.Enter))
	if id := eval[string](b, "document.activeElement.id"); id != "main" {
		t.Errorf("skipping leads to %q", id)
	}
	b.open("/")
	for eval[string](b, "document.activeElement.id") != "find" {
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	if outline := eval[string](b, "getComputedStyle(document.activeElement).outlineStyle"); outline != "solid" {
		t.Errorf("the outline of the focus is %q", outline)
	}
	b.do(chromedp.KeyEvent("reminder-ann"), chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(`//h1[text()="reminder-ann"]`))
	b.press(kb.Tab, "Terminate")
	b.do(chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(chromedp.CSS("form.dangerous")))
	b.press(kb.Tab, "reason")
	b.do(chromedp.KeyEvent("moved away"))
	b.press(kb.Tab, "Terminate")
	b.do(chromedp.KeyEvent(kb.Enter))
	b.says("Terminate: done")
	if d := s.describe("reminder-ann"); d.Status != client.StatusTerminated {
		t.Errorf("it is %v", d.Status)
	}
}

// A page follows its instance while nobody works on it, and keeps what somebody does there.
func TestPagesAreLive(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	b.open("/instances/" + s.key("order-1006"))
	b.do(chromedp.WaitVisible(chromedp.CSS("#live")))
	eval[int](b, "document.querySelector('.as').dataset.kept = 'yes'; 0")
	if err := s.client.Suspend(t.Context(), "order-1006", ""); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.WaitReady(chromedp.CSS("main .head .suspended")))
	if kept := eval[string](b, "document.querySelector('.as').dataset.kept || ''"); kept != "" && kept != "yes" {
		t.Errorf("the page was replaced: %q", kept)
	}
	// Paused, it stays.
	b.do(chromedp.Click(chromedp.CSS("#live")), chromedp.WaitReady(chromedp.CSS(`#live[aria-pressed="false"]`)))
	if err := s.client.Resume(t.Context(), "order-1006", ""); err != nil {
		t.Fatal(err)
	}
	requests := eval[int](b, `new Promise(done => { let n = 0; new PerformanceObserver(l => { n += l.getEntries().length }).observe({type: "resource"});
		setTimeout(() => done(n), 4000) })`)
	if requests != 0 {
		t.Errorf("a paused page has made %d requests", requests)
	}
	b.do(chromedp.Click(chromedp.CSS("#live")), chromedp.WaitReady(chromedp.CSS("main .head .running")))
	if told := eval[string](b, "document.getElementById('told').getAttribute('aria-live')"); told != "polite" {
		t.Errorf("screen readers are told %q", told)
	}
}
