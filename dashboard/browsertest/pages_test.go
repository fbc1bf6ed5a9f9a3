package browsertest

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// sitePages are the pages by the names of their screenshots.
func sitePages(s *site) [][2]string {
	return [][2]string{
		{"overview", "/"},
		{"instances", "/instances"},
		{"instances-filtered", "/instances?orchestration=Order&status=Completed"},
		{"instance", "/instances/" + s.key("order-1006")},
		{"instance-retrying", "/instances/" + s.key("order-1007/delivery")},
		{"instance-completed", "/instances/" + s.key("order-1002") + "?payloads=show"},
		{"instance-blocked", "/instances/" + s.key("bill-november")},
		{"instance-failed", "/instances/" + s.key("refund-17")},
		{"history", "/instances/" + s.key("order-1002") + "/history?form=full&payloads=show"},
		{"act", "/instances/" + s.key("order-1006") + "/terminate"},
		{"start", "/instances/start"},
		{"schedules", "/schedules"},
		{"jobs", "/jobs"},
		{"bulk", "/jobs/start?filter=status%3DRunning%26orchestration%3DOrder"},
		{"chosen", "/instances/act?keys=" + s.key("order-1006") + "&keys=" + s.key("reminder-ann")},
		{"retention", "/retention"},
		{"retention-set", "/retention/set"},
		{"retention-run", "/retention/run"},
		{"prune", "/instances/prune"},
		{"reset-point", "/instances/" + s.key("refund-17") + "/reset?to=last-failure"},
		{"fork-point", "/instances/" + s.key("order-1002") + "/fork?event=2&execution=1"},
		{"bulk-reset", "/jobs/start?act=reset&to=last-failure&filter=status%3DFailed"},
		{"restart", "/instances/" + s.key("refund-17") + "/restart?payloads=show"},
		{"schedule-create", "/schedules/create"},
		{"queues", "/queues"},
		{"nodes", "/nodes"},
		{"dead-letters", "/dead-letters"},
		{"audit", "/audit"},
		{"not-found", "/nowhere"},
	}
}

// violation is a finding of axe.
type violation struct {
	ID    string `json:"id"`
	Help  string `json:"help"`
	Nodes []struct {
		HTML    string `json:"html"`
		Summary string `json:"failureSummary"`
	} `json:"nodes"`
}

// check runs axe on the page, and looks whether the page is wider than the screen.
func (b *tab) check(name string, axe string) {
	b.t.Helper()
	if over := eval[int](b, "document.documentElement.scrollWidth - window.innerWidth"); over > 0 {
		b.t.Errorf("%s: the page is %d pixels wider than the screen: %s", name, over, eval[string](b, `[...document.querySelectorAll("main *")]
			.filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.parentElement.closest(".scroll, pre, svg")).slice(0, 3).map(e => e.outerHTML.slice(0, 200)).join("\n")`))
	}
	if axe == "" {
		return
	}
	eval[int](b, axe+"; 0")
	var found []violation
	if err := json.Unmarshal([]byte(eval[string](b, `axe.run(document, {resultTypes: ["violations"]}).then(r => JSON.stringify(r.violations))`)), &found); err != nil {
		b.t.Fatal(err)
	}
	for _, v := range found {
		for _, n := range v.Nodes {
			b.t.Errorf("%s: axe: %s (%s): %s\n%s", name, v.ID, v.Help, n.HTML, n.Summary)
		}
	}
}

// Every page is well on a desk and on a phone, in light and in dark, and axe finds nothing.
func TestPages(t *testing.T) {
	axe := axe(t)
	s := newSite(t)
	b := s.tab(t)
	command(b, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: axe != ""})
	for _, colours := range []string{"light", "dark"} {
		b.scheme(colours)
		for _, size := range []struct {
			name string
			set  func()
		}{{"wide", b.wide}, {"phone", b.narrow}} {
			if size.name == "phone" && colours == "dark" {
				continue // the width changes no colours
			}
			size.set()
			for _, p := range sitePages(s) {
				name := fmt.Sprintf("%s-%s-%s", p[0], size.name, colours)
				b.open(p[1])
				b.check(name, axe)
				b.shoot(name)
			}
		}
	}
	b.wide()
	b.scheme("light")
	b.open("/")
	b.do(chromedp.Click(`//button[text()="Log out"]`), chromedp.WaitVisible(chromedp.CSS(`input[name="token"]`)))
	b.check("login", axe)
	b.shoot("login-wide-light")
}
