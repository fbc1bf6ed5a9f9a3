package browsertest

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/provider"
)

// figured writes what a node that is gone has counted within the last hour, and acts that leave marks.
func (s *site) figured() {
	s.t.Helper()
	keeper, ok := provider.As[provider.Keeper](s.store)
	if !ok {
		s.t.Fatal("the store keeps no records")
	}
	now := time.Now()
	since, until := now.Add(-50*time.Minute), now.Add(-8*time.Minute)
	put := func(letter string, at time.Time, value map[string]any) {
		s.t.Helper()
		value["since"], value["until"] = since.UnixMicro(), until.UnixMicro()
		data, err := json.Marshal(value)
		if err == nil {
			_, err = keeper.Record(s.t.Context(), provider.RecordRequest{
				Action: provider.RecordPut, Namespace: "perdure/figures", Key: fmt.Sprintf("%s/%010d/shop-0-%s", letter, at.Unix(), hostileName), Value: data,
			})
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	for at := since.Truncate(10 * time.Minute); at.Before(until); at = at.Add(10 * time.Minute) {
		var slots []map[string]any
		for i := range 10 {
			if minute := at.Add(time.Duration(i) * time.Minute); minute.After(since) && minute.Before(until.Add(-time.Minute)) {
				n := minute.Minute()
				slots = append(slots, map[string]any{
					"i": i, "started": 900 + 13*n, "completed": 800 + 11*n, "failed": n % 7, "cancelled": n % 2, "retried": n % 11 * 4, "backlog": n * n,
				})
			}
		}
		put("m", at, map[string]any{
			"slots": slots, "failed": map[string]int{"Refund": 9, hostileName: 2},
			"activities": map[string]any{
				"Pay":       map[string]any{"completed": 12345, "retried": 77, "latency": map[string]int{"30": 9000, "60": 90}},
				hostileName: map[string]any{"failed": 3},
			},
			"queues": map[string]any{"carriers": map[string]any{"peak": 3481, "longest": int64(95 * time.Second), "at": until.UnixMicro()}},
		})
	}
	put("n", until, map[string]any{"lost": until.Add(time.Minute).UnixMicro()})
	ann, err := s.client.As(client.Principal{Name: "ann@shop", Role: client.RoleAdmin})
	if err == nil {
		err = ann.Suspend(s.t.Context(), "order-1006", "stocktaking")
	}
	if err == nil {
		err = ann.Resume(s.t.Context(), "order-1006", "")
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// oncallPages are the pages of what fails, what is tried again, and what was searched.
func oncallPages(s *site) [][2]string {
	s.t.Helper()
	s.figured()
	s.until("order-1007/delivery", func(d *client.Description) bool { return len(d.Activities) == 1 && d.Activities[0].Attempt > 1 })
	d := s.describe("refund-17")
	if d.FailureGroup == "" {
		s.t.Fatalf("the failed instance has no group: %+v", d)
	}
	return [][2]string{
		{"figures", "/"},
		{"figures-week", "/?window=week"},
		{"incident", "/incident"},
		{"failures", "/failures"},
		{"failures-group", "/failures?group=" + d.FailureGroup},
		{"failures-none", "/failures?orchestration=Nobody"},
		{"instances-of-group", "/instances?failureGroup=" + d.FailureGroup},
		{"retrying", "/retrying"},
		{"retrying-none", "/retrying?queue=nobody"},
		{"search", "/instances?q=status:completed+@region:eu+started:%3C1h"},
		{"search-either", "/instances?q=is:blocked+OR+is:retrying+OR+status:failed"},
		{"search-none", "/instances?q=name:Nobody"},
		{"search-mistaken", "/instances?q=status:completed+colour:red"},
	}
}

// axe returns the script that looks for mistakes, or "" if it is not there.
func axe(t *testing.T) string {
	t.Helper()
	if *axeFile == "" {
		t.Log("axe-core is not there: give -axe or PERDURE_TEST_AXE; make test-browser fetches it")
		return ""
	}
	data, err := os.ReadFile(*axeFile)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// look looks at pages on a desk and on a phone, in both schemes: folded, and with all that unfolds. Each page and scheme has a tab of its own, whose
// time is bounded.
func look(t *testing.T, s *site, pages [][2]string) {
	t.Helper()
	script := axe(t)
	for _, p := range pages {
		for _, colours := range []string{"light", "dark"} {
			t.Run(p[0]+"/"+colours, func(t *testing.T) {
				b := s.tab(t)
				command(b, page.SetBypassCSP, page.SetBypassCSPParams{Enabled: script != ""})
				b.scheme(colours)
				for _, size := range []struct {
					name string
					set  func()
				}{{"wide", b.wide}, {"phone", b.narrow}} {
					size.set()
					name := fmt.Sprintf("%s-%s-%s", p[0], size.name, colours)
					b.open(p[1])
					b.check(name, "")
					b.shoot(name)
					eval[int](b, `document.querySelectorAll("main details").forEach(d => { d.open = true }); 0`)
					b.check(name+" (unfolded)", script)
				}
			})
		}
	}
}

// What somebody on call looks at is well on a desk and on a phone, in both schemes.
func TestPagesOnCall(t *testing.T) {
	s := newSite(t)
	look(t, s, oncallPages(s))
}

// The keys that the branches of the dashboard added work side by side, on each page: / goes to the search of the page once, and ?, u and p do what
// the list of keys says.
func TestKeysTogether(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	press := func(keys string) { // as a keyboard does: a key that is taken leaves no letter
		t.Helper()
		for _, key := range keys {
			p := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyDown, Key: string(key), Text: string(key)}
			if text := string(key); text == kb.Enter {
				p.Key, p.WindowsVirtualKeyCode = "Enter", 13
			}
			command(b, input.DispatchKeyEvent, p)
			command(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp, Key: p.Key})
		}
	}
	pressed := func(id string) string {
		return eval[string](b, `document.getElementById("`+id+`").getAttribute("aria-pressed")`)
	}
	for path, box := range map[string]string{"/instances?q=status:failed": "q", "/": "find", "/instances?q=colour:red": "q", "/failures": "find"} {
		b.open(path)
		press("/")
		if at := focused(b); at != box {
			t.Errorf("%s: / focuses %q, want %q", path, at, box)
		}
		before := eval[string](b, `document.activeElement.value`)
		if chosen := eval[string](b, `document.getSelection().toString()`); chosen != before {
			t.Errorf("%s: / chooses %q of %q", path, chosen, before)
		}
		press("/?up")
		if text := eval[string](b, `document.activeElement.value`); text != "/?up" || eval[bool](b, `document.getElementById("keys").open`) || pressed("zone") != "false" {
			t.Errorf("%s: keys are taken while somebody types: %q", path, text)
		}
	}
	b.open("/instances")
	press("?")
	b.do(chromedp.WaitVisible(chromedp.CSS("dialog#keys[open]")))
	press("up/")
	if pressed("zone") != "false" || pressed("live") != "true" || focused(b) == "q" {
		t.Errorf("keys work below the list of keys: UTC %s, live %s, focus on %q", pressed("zone"), pressed("live"), focused(b))
	}
	press("?")
	b.do(chromedp.WaitNotVisible(chromedp.CSS("dialog#keys")))
	press("u")
	press("p")
	if pressed("zone") != "true" || pressed("live") != "false" {
		t.Errorf("after u and p: UTC %s, live %s", pressed("zone"), pressed("live"))
	}
	press("u")
	press("p")
	press("/")
	b.leaving(func() { press("status:failed" + kb.Enter) })
	b.says("refund-17")
	if at := eval[string](b, `new URL(location.href).searchParams.get("q")`); at != "status:failed" {
		t.Errorf("the search is for %q", at)
	}
}

// A search with a mistake says what is wrong where it was typed, and keeps the text.
func TestAMistakenSearch(t *testing.T) {
	s := newSite(t)
	b := s.tab(t)
	b.open("/instances")
	b.do(chromedp.SetValue(chromedp.CSS("#q"), "colour:red"))
	b.leave(chromedp.Click(`//main//button[text()="Search"]`))
	told := eval[string](b, `document.getElementById(document.getElementById("q").getAttribute("aria-describedby")).innerText`)
	if text := eval[string](b, `document.getElementById("q").value`); text != "colour:red" || told == "" {
		t.Errorf("the box has %q, and says %q", text, told)
	}
	b.do(chromedp.SetValue(chromedp.CSS("#q"), "status:failed"))
	b.leave(chromedp.Click(`//main//button[text()="Search"]`))
	b.says("refund-17")
}
