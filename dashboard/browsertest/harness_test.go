package browsertest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/dashboard"
	"github.com/perdure/perdure/internal/sample"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

var (
	screenshots = flag.String("screenshots", "", "folder to write screenshots to")
	axeFile     = flag.String("axe", os.Getenv("PERDURE_TEST_AXE"), "path of axe.min.js")
)

// browser is one process of Chromium for all tests.
var browser context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	path, err := chromium()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.Flag("headless", "new"), chromedp.NoSandbox, chromedp.Flag("force-color-profile", "srgb"),
		chromedp.Flag("disable-dev-shm-usage", true))
	alloc, stop := chromedp.NewExecAllocator(context.Background(), opts...)
	defer stop()
	ctx, cancel := chromedp.NewContext(alloc)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "starting %s: %v\n", path, err)
		return 1
	}
	browser = ctx //nolint:fatcontext // of all tests of the package, which run inside this function
	return m.Run()
}

// chromium returns the path of the browser.
func chromium() (string, error) {
	names := []string{os.Getenv("PERDURE_TEST_BROWSER"), "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"}
	for _, name := range names {
		if name == "" {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no Chromium: install it (Debian: apt-get install chromium), or name its program in PERDURE_TEST_BROWSER")
}

// site is a shop with its dashboard.
type site struct {
	t        *testing.T
	store    provider.Provider
	client   *client.Client
	url      string
	sessions *dashboard.Sessions
}

// newSite starts a shop whose samples have settled, and serves its dashboard below a prefix.
func newSite(t *testing.T) *site {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	reg := runtime.NewRegistry()
	if err := errors.Join(sample.Register(reg), registerBusy(reg)); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: quiet, Name: "shop-1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = rt.Shutdown(context.WithoutCancel(t.Context())) })
	c, err := rt.Client(client.Options{Logger: quiet})
	if err == nil {
		err = sample.Seed(t.Context(), c)
	}
	if err == nil {
		err = sample.Settle(t.Context(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := dashboard.NewSessions(dashboard.SessionOptions{Principal: client.Principal{Name: "ann@shop", Role: client.RoleAdmin}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := dashboard.Handler(c, dashboard.Options{Prefix: "/ops", Sessions: sessions, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return &site{t, store, c, server.URL + "/ops", sessions}
}

// key returns the key of the instance with an ID.
func (s *site) key(id string) string {
	s.t.Helper()
	h, err := client.Lookup[any](s.t.Context(), s.client, id)
	if err != nil {
		s.t.Fatal(err)
	}
	return h.Key().String()
}

// describe returns what is stored about an instance.
func (s *site) describe(id string) client.Description {
	s.t.Helper()
	d, err := s.client.Describe(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// until waits until an instance is as wanted.
func (s *site) until(id string, wanted func(*client.Description) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 15*time.Second)
	defer cancel()
	for mark := ""; ; {
		d, next, err := s.client.Follow(ctx, id, mark)
		if err != nil {
			s.t.Fatalf("%s never became as wanted: %v; it is %+v", id, err, d)
		}
		if wanted(&d) {
			return
		}
		mark = next
	}
}

// tab is a page of the browser with cookies of its own.
type tab struct {
	t   *testing.T
	s   *site
	ctx context.Context

	mu   sync.Mutex
	errs []string // of scripts and of the content security policy
}

type step = chromedp.Action[chromedp.Void]

// tab opens a page and logs in.
func (s *site) tab(t *testing.T, steps ...step) *tab {
	t.Helper()
	b := &tab{t: t, s: s}
	ctx, cancel := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.listen))
	t.Cleanup(cancel)
	if err := chromedp.Do(ctx); err != nil { // it opens the page, which must not end with a timeout
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(stop)
	b.ctx = ctx
	command(b, log.Enable, cdp.Empty{})
	b.wide()
	b.do(steps...)
	b.do(chromedp.Navigate(s.url + "/login?code=" + s.sessions.Code()))
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, e := range b.errs {
			t.Errorf("the browser reports: %s", e)
		}
	})
	return b
}

func (b *tab) listen(e any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := e.(type) {
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && !strings.Contains(e.Entry.Text, "status of 4") {
			b.errs = append(b.errs, e.Entry.Text+" "+e.Entry.URL)
		}
	case *cdpruntime.EventExceptionThrown:
		b.errs = append(b.errs, e.ExceptionDetails.Text)
	}
}

// command sends a command of the browser's protocol.
func command[P, R any](b *tab, cmd cdp.Command[P, R], params P) R {
	b.t.Helper()
	res, err := chromedp.Call(b.ctx, cmd, params)
	if err != nil {
		b.t.Fatal(err)
	}
	return res
}

func (b *tab) do(steps ...step) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 15*time.Second)
	defer cancel()
	if err := chromedp.Do(ctx, steps...); err != nil {
		text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body.innerText.slice(0, 1500)"))
		b.t.Fatalf("%v, at %s", err, text)
	}
}

// eval returns the value of a script.
func eval[T any](b *tab, script string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// open opens a page below the prefix.
func (b *tab) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.s.url+path), chromedp.WaitReady(chromedp.CSS("main")))
}

// wide sets a screen of a desk, and narrow that of a phone.
func (b *tab) wide() { b.screen(1280, 900, false) }

func (b *tab) narrow() { b.screen(375, 800, true) }

func (b *tab) screen(width, height int64, phone bool) {
	b.t.Helper()
	command(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{Width: width, Height: height, DeviceScaleFactor: 1, Mobile: phone})
}

// scheme asks for light or dark colours.
func (b *tab) scheme(name string) {
	b.t.Helper()
	command(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: name}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
}

// shoot writes a screenshot, if the flag names a folder for them.
func (b *tab) shoot(name string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	shot, kind := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: new(int64(80))}, ".webp"
	if os.Getenv("PERDURE_TEST_PNG") != "" {
		shot, kind = page.CaptureScreenshotParams{}, ".png"
	}
	data := command(b, page.CaptureScreenshot, shot).Data
	if err := os.WriteFile(filepath.Join(*screenshots, name+kind), data, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
