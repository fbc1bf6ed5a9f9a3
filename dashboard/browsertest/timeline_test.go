package browsertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// hostileName would lay out a page anew if it were not kept apart.
const hostileName = "\u05d7\u05e9\u05d1\u05d5\u05e0\u05d9\u05ea-\u0664\u0662-<b>bold</b>-averyveryveryveryveryveryveryverylongnamewithoutanyspace"

// registerBusy adds an orchestration with much to draw: a loop, children, a first of two, a panic that is tried again, and a wait.
func registerBusy(reg *runtime.Registry) error {
	return errors.Join(
		runtime.AddOrchestration(reg, orchestration.Define("Busy", busy)),
		runtime.AddOrchestration(reg, orchestration.Define("Leaf", leaf)),
		runtime.AddActivity(reg, Step),
		runtime.AddActivity(reg, Crash),
	)
}

func leaf(ctx *orchestration.Context, n int) (int, error) {
	switch n {
	case 3:
		return 0, errors.New("no truck")
	case 5:
		return 0, ctx.Sleep(time.Hour)
	}
	return n, nil
}

// Step does nothing.
func Step(_ context.Context, n int) (string, error) { return strings.Repeat("x", n), nil }

// Crash panics.
func Crash(context.Context, int) (int, error) {
	var m map[string]int
	m["x"]++ //nolint:govet,staticcheck // a panic
	return 0, nil
}

func busy(ctx *orchestration.Context, _ int) (int, error) {
	for i := range 30 {
		if _, err := orchestration.CallActivity(ctx, Step, i); err != nil {
			return 0, err
		}
	}
	if _, err := orchestration.CallActivity(ctx, Step, 70_000); err != nil {
		return 0, err
	}
	for i := range 120 {
		orchestration.StartOrchestrationNamed[int](ctx, "Leaf", i, orchestration.WithInstanceID(fmt.Sprintf("%s/%s%d", ctx.Info().ID, hostileName, i)))
	}
	policy := orchestration.RetryPolicy{MaxAttempts: 3, InitialInterval: 50 * time.Millisecond}
	_, _ = orchestration.CallActivity(ctx, Crash, 1, orchestration.WithRetry(policy))
	_, err := orchestration.Events[int](ctx, "go").Receive(ctx, orchestration.Waiting("let it go on?"))
	return 0, err
}

// busyPages starts a busy instance, waits until it waits, and returns its pages.
func busyPages(t *testing.T, s *site) [][2]string {
	t.Helper()
	h, err := client.StartNamed[any](t.Context(), s.client, "Busy", 1, client.WithID("busy-"+hostileName))
	if err != nil {
		t.Fatal(err)
	}
	s.until(h.ID(), func(d *client.Description) bool { return d.Waiting != nil })
	at := "/instances/" + h.Key().String()
	return [][2]string{
		{"busy", at},
		{"busy-timeline", at + "/timeline"},
		{"busy-children", at + "/children"},
		{"busy-history", at + "/history"},
		{"busy-payloads", at + "/history?payloads=show&from=55&form=full"},
		{"busy-panic", at + "/history?failed=true"},
		{"busy-none", at + "/history?kind=ForkPoint"},
		{"leaf-children", "/instances/" + s.key(h.ID()+"/"+hostileName+"0") + "/children"},
		{"order-timeline", "/instances/" + s.key("order-1006") + "/timeline"},
		{"retrying-timeline", "/instances/" + s.key("order-1007/delivery") + "/timeline"},
		{"history", "/instances/" + s.key("order-1002") + "/history"},
		{"queues", "/queues"},
	}
}

// The pages of one instance are well on a desk and on a phone, in both schemes: nothing is wider than the screen, and axe finds nothing.
func TestPagesOfAnInstance(t *testing.T) {
	s := newSite(t)
	look(t, s, busyPages(t, s))
}

// focused returns what has the focus.
func focused(b *tab) string {
	return eval[string](b, `(document.activeElement?.id || document.activeElement?.textContent || "").trim().slice(0, 60)`)
}

// All of it works by keyboard: times in UTC, the list of keys, unfolding a group, and going to the form that resets.
func TestKeyboardAlone(t *testing.T) {
	s := newSite(t)
	pages := busyPages(t, s)
	b := s.tab(t)
	b.open(pages[0][1])
	press := func(keys string) {
		t.Helper()
		b.do(chromedp.KeyEvent(keys))
	}
	press("?")
	b.do(chromedp.WaitVisible(chromedp.CSS("dialog#keys[open]")))
	press(kb.Escape)
	b.do(chromedp.WaitNotVisible(chromedp.CSS("dialog#keys")))
	press("/")
	if at := focused(b); at != "find" {
		t.Errorf("/ focuses %q", at)
	}
	press("u?")
	if text := eval[string](b, `document.getElementById("find").value`); !strings.HasSuffix(text, "u?") {
		t.Errorf("keys are taken while somebody types: %q", text)
	}
	eval[int](b, `document.activeElement.blur(); 0`)
	clock := `document.querySelector(".bars .axis time").textContent`
	local := eval[string](b, clock)
	press("u")
	if text := eval[string](b, clock); !strings.HasSuffix(text, "Z") || text == local {
		t.Errorf("the clock is %q, and in UTC %q", local, text)
	}
	b.open(pages[0][1])
	if text := eval[string](b, clock); !strings.HasSuffix(text, "Z") {
		t.Errorf("the choice of UTC is lost: %q", text)
	}
	press("u")
	tabTo := func(selector string) {
		t.Helper()
		for range 400 {
			press(kb.Tab)
			if eval[bool](b, "document.activeElement.matches("+string(must(json.Marshal(selector)))+")") {
				return
			}
		}
		t.Fatalf("no key leads to %s", selector)
	}
	tabTo(".bars details > summary")
	press(kb.Enter)
	if !eval[bool](b, `document.querySelector(".bars details").open`) {
		t.Error("Enter does not unfold a group")
	}
	b.open(pages[3][1])
	tabTo(".points > summary")
	press(kb.Enter)
	press(kb.Tab)
	press(kb.Enter)
	b.do(chromedp.WaitVisible(chromedp.CSS(`form input[name="event"]`)))
	if event := eval[string](b, `document.querySelector('form input[name="event"]').value`); event != "1" {
		t.Errorf("the form has event %q", event)
	}
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return data
}
