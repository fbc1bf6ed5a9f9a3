package sqlite

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// led reports whether a call was run by its caller.
func led(ctx context.Context, p *Provider) (bool, error) {
	return ledAs(ctx, p, &relational.Member{Op: "test"})
}

func ledAs(ctx context.Context, p *Provider, m *relational.Member) (bool, error) {
	return relational.Do(ctx, p.enqueue, m, false, func(_ *relational.Tx, led *bool) error {
		*led = leads()
		return nil
	})
}

// leads reports whether the function that calls it runs on the goroutine of the store's caller.
func leads() (led bool) {
	frames := make([]uintptr, 50)
	list := runtime.CallersFrames(frames[:runtime.Callers(1, frames)])
	for f, more := list.Next(); more && !led; f, more = list.Next() {
		led = strings.HasSuffix(f.Function, "(*writer).lead")
	}
	return led
}

// awaitLed waits until calls are led, as they are once the store knows that no other process has the file.
func awaitLed(tb testing.TB, p *Provider) {
	tb.Helper()
	await(tb, "a call that its caller runs", func() bool {
		led, err := led(tb.Context(), p)
		if err != nil {
			tb.Fatal(err)
		}
		return led
	})
}

func TestSingleCallerRunsItsCall(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "lead.db"), Options{})
	awaitLed(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), defaultBusyTimeout)
	defer cancel()
	for range 20 {
		if led, err := led(ctx, p); led || err != nil {
			t.Fatalf("a caller whose time is short runs its call (%v)", err)
		}
	}
	for range 20 {
		if led, err := ledAs(t.Context(), p, &relational.Member{Op: "test", Exclusive: true}); led || err != nil {
			t.Fatalf("a caller runs what may run a program's function (%v)", err)
		}
	}
	release, results := hold(t, p), make(chan error, 2)
	for range 2 {
		go func() {
			_, err := led(t.Context(), p)
			results <- err
		}()
	}
	await(t, "a group of two", func() bool { return queued(p) == 2 })
	release()
	for range 2 {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
	if led, err := led(t.Context(), p); led || err != nil {
		t.Fatalf("a caller runs its call after a group of several (%v)", err)
	}
	awaitLed(t, p)
	pretendPeer(t, p)
	for range 20 {
		if led, err := led(t.Context(), p); led || err != nil {
			t.Fatalf("a caller beside another process runs its call (%v)", err)
		}
	}
}

// A caller that leads gets the result of its call though its context is cancelled meanwhile.
func TestLeaderKnowsTheOutcomeThoughItIsCancelled(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "cancelled.db"), Options{})
	for n := 0; n < 20; {
		awaitLed(t, p)
		ctx, cancel := context.WithCancel(t.Context())
		led := false
		_, err := relational.Do(ctx, p.enqueue, &relational.Member{Op: "test"}, false, func(_ *relational.Tx, _ *struct{}) error {
			led = leads()
			cancel()
			return nil
		})
		switch {
		case !led: // the goroutine was at work just then
		case err != nil:
			t.Fatal("it was done, and its caller gets:", err)
		default:
			n++
		}
	}
}

// pretendPeer makes the store believe that another process has the file.
func pretendPeer(t *testing.T, p *Provider) {
	t.Helper()
	w := p.store.writer
	w.lock.Lock()
	defer w.lock.Unlock()
	w.others.alone, w.others.livenessAt = false, time.Now().Add(time.Hour)
}

// A caller that leads cannot stop waiting, so one with a near deadline must not lead.
func TestCallerLeavesAtItsDeadlineThoughTheFileIsLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locked.db")
	p := openTest(t, path, Options{BusyTimeout: 20 * time.Second})
	awaitLed(t, p)
	other, err := connect(t.Context(), dsn(path, Options{}.withDefaults(), false))
	if err != nil {
		t.Fatal(err)
	}
	defer other.close() //nolint:errcheck // nothing is open
	if _, err := other.exec(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	_, err = p.Create(ctx, provider.CreateRequest{ID: "late", Key: newKey(), Commit: newToken(), Name: "x"})
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) > 10*time.Second {
		t.Errorf("after %v: %v: want the deadline", time.Since(began), err)
	}
	if _, err := other.exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}

func TestLeaderCallsTheGoroutineForWhatComesSooner(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "restless.db"), Options{})
	fetched := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := p.FetchTurns(ctx, fetchOf("nobody", newToken(), time.Hour))
		fetched <- err
	}()
	w := p.store.writer
	awaitWaiting(t, w, 1)
	awaitLed(t, p)
	w.lock.Lock()
	s := w.tx.schedule
	was, due, others := w.wakeAt, s.dueTimes, w.others
	for name, change := range map[string]func(){
		"a turn is due":              func() { s.wall = p.store.clock.wall().Add(time.Second) },
		"a lease ends":               func() { s.elapsed = p.store.clock.elapsed() + 1e6 },
		"what is due is not known":   func() { s.stale = true },
		"another process has stored": func() { w.others.changed = true },
	} {
		now := time.Now()
		s.dueTimes, w.others = dueTimes{wall: never, elapsed: never}, others
		w.others.changed, w.others.alone, w.others.polledAt, w.wakeAt = false, true, now.Add(time.Hour), now.Add(10*time.Second)
		if w.needsWake() {
			t.Error("there is nothing to do")
		}
		if change(); !w.needsWake() {
			t.Errorf("the goroutine sleeps on, though %s", name)
		}
	}
	w.wakeAt, s.dueTimes, w.others = was, due, others
	w.lock.Unlock()
	cancel()
	if err := <-fetched; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
