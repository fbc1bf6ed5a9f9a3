package runtime_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// main is code of the orchestration "main".
type main func(ctx *octx, in int) (int, error)

// before is the code that the stored histories were made with: an activity, then an event.
func before(ctx *octx, in int) (int, error) {
	n, err := orchestration.CallActivity(ctx, Double, in)
	if err != nil {
		return 0, err
	}
	more, err := orchestration.Events[int](ctx, "go").Receive(ctx)
	return n + more, err
}

// with returns a registry with the code of "main".
func with(t *testing.T, code main) *runtime.Registry {
	t.Helper()
	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddActivity(reg, Double), runtime.AddOrchestration(reg, orchestration.Define("main", code))); err != nil {
		t.Fatal(err)
	}
	return reg
}

// waiting returns a store with instances of "main" that wait for their event, and the history of the first.
func waiting(t *testing.T, code main, ids ...string) (provider.Provider, client.HistoryFile) {
	t.Helper()
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	rt, err := runtime.Start(t.Context(), store, with(t, code), runtime.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := rt.Client(client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var first client.HistoryFile
	for i, id := range ids {
		h, err := client.StartNamed[int](t.Context(), c, "main", 7, client.WithID(id))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Query[[]string](t.Context(), h, "queries", none{}); err != nil {
			t.Fatal(err)
		}
		for len(first.Events) < 3 {
			f, err := h.ExportHistory(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				break
			}
			first = f
		}
	}
	if err := rt.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	return store, first
}

// The code that wrote a history replays it, as often as asked, and stores nothing.
func TestReplayFits(t *testing.T) {
	t.Parallel()
	store, h := waiting(t, before, "a")
	reg := with(t, before)
	for range 3 {
		if err := runtime.Replay(t.Context(), reg, h); err != nil {
			t.Error(err)
		}
	}
	c, err := client.New(store, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if after, err := c.ExportHistory(t.Context(), "a", 0); err != nil || len(after.Events) != len(h.Events) {
		t.Errorf("the stored history changed: %d events, %v", len(after.Events), err)
	}
	h.Events = nil
	if err := runtime.Replay(t.Context(), reg, h); err != nil {
		t.Errorf("not begun: %v", err)
	}
}

// Each kind of difference names its event, what was expected, what the code did, and where.
func TestReplayDiffers(t *testing.T) {
	t.Parallel()
	_, h := waiting(t, before, "a")
	cases := map[string]struct {
		code          main
		event         int64
		expected, got string
		place         string // pattern of Source
		stack, hint   string
	}{
		"another call": {
			func(ctx *octx, in int) (int, error) { return in, ctx.Sleep(time.Minute) },
			2, `ActivityScheduled of "Double"`, "TimerCreated of 1m0s", `replay_test\.go:\d+`, "", "ctx.Patched",
		},
		"a call missing": {
			func(ctx *octx, _ int) (int, error) { return orchestration.Events[int](ctx, "go").Receive(ctx) },
			2, `ActivityScheduled of "Double"`, "nothing (it waits or has ended)", `replay_test\.go:\d+`, "coroutine 1:", "ctx.Patched",
		},
		"a call more": {
			func(ctx *octx, in int) (int, error) {
				if n, err := before(ctx, in); err != nil || n < 0 {
					return n, err
				}
				return in, ctx.Sleep(time.Minute)
			}, 0, "", "", "", "", "",
		},
		"another call at the end": {
			func(ctx *octx, in int) (int, error) {
				n, _ := orchestration.CallActivity(ctx, Double, in)
				return n, ctx.Sleep(time.Minute)
			}, 4, "nothing (the history ends here)", "TimerCreated of 1m0s", `replay_test\.go:\d+`, "", "ctx.Patched",
		},
		"an early end": {
			func(*octx, int) (int, error) { return 1, nil },
			2, `ActivityScheduled of "Double"`, "ExecutionCompleted", "", "", "ctx.Patched",
		},
		"a panic": {
			func(*octx, int) (int, error) { panic("on purpose") },
			1, "a history that goes on", "a panic: on purpose", "", "replay_test.go", "mend the code",
		},
		"a panic at the end": {
			func(ctx *octx, in int) (int, error) {
				_, _ = orchestration.CallActivity(ctx, Double, in)
				panic("on purpose")
			},
			3, "code that waits or ends at the last event", "a panic: on purpose", "", "replay_test.go", "mend the code",
		},
		"goexit": {
			func(*octx, int) (int, error) { goruntime.Goexit(); return 0, nil },
			1, "a history that goes on", "orchestration code called runtime.Goexit", "", "", "mend the code",
		},
		"another goroutine": {
			func(ctx *octx, in int) (int, error) {
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = orchestration.CallActivity(ctx, Double, in)
				}()
				<-done
				return orchestration.Events[int](ctx, "go").Receive(ctx)
			},
			0, "", "", "", "", "ctx.Go",
		},
		"a child that is not registered": {
			func(ctx *octx, in int) (int, error) { return orchestration.CallOrchestration(ctx, Twice, in) },
			1, "a history that goes on", `"Twice" is not registered`, "", "", "mend the code",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := runtime.Replay(t.Context(), with(t, c.code), h)
			if c.hint == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, ok := errors.AsType[*runtime.ReplayError](err)
			if !ok {
				t.Fatalf("got %v", err)
			}
			if e.InstanceID != "a" || e.Execution != 1 || e.Orchestration != "main" || !strings.Contains(e.Hint, c.hint) ||
				!strings.Contains(e.Stack, c.stack) || !regexp.MustCompile(c.place).MatchString(e.Source) {
				t.Errorf("got %+v", e)
			}
			if c.event > 0 && (e.EventID != c.event || e.Expected != c.expected || !strings.Contains(e.Got, c.got)) {
				t.Errorf("got event %d, expected %s, got %s", e.EventID, e.Expected, e.Got)
			}
			if !strings.Contains(err.Error(), e.Expected) || !strings.Contains(err.Error(), e.Got) || !strings.Contains(err.Error(), e.Hint) {
				t.Errorf("the text lacks something: %v", err)
			}
		})
	}
}

// Code that differs behind a patch that it does not know is older code, and the hint says so.
func TestReplayNamesTheUnknownPatch(t *testing.T) {
	t.Parallel()
	patched := func(ctx *octx, in int) (int, error) {
		if ctx.Patched("sleep-first") {
			_ = ctx.Sleep(time.Nanosecond)
		}
		return before(ctx, in)
	}
	_, h := waiting(t, patched, "a")
	e, ok := errors.AsType[*runtime.ReplayError](runtime.Replay(t.Context(), with(t, before), h))
	if !ok || !strings.Contains(e.Hint, `"sleep-first"`) {
		t.Errorf("got %+v", e)
	}
}

// A history that cannot be judged is an error of another kind.
func TestReplayRefuses(t *testing.T) {
	t.Parallel()
	_, h := waiting(t, before, "a")
	reg := with(t, before)
	broken, newer := h, h
	broken.Events = append([][]byte{{9}}, h.Events[1:]...)
	newer.EngineLevel = 99
	for _, h := range []client.HistoryFile{broken, newer} {
		if err := runtime.Replay(t.Context(), reg, h); !errors.Is(err, client.ErrHistoryFile) {
			t.Errorf("got %v", err)
		}
	}
	if err := runtime.Replay(t.Context(), nil, h); !errors.Is(err, runtime.ErrInvalid) {
		t.Errorf("no registry: %v", err)
	}
	bad := with(t, before)
	_ = runtime.AddActivity(bad, Double)
	if err := runtime.Replay(t.Context(), bad, h); !errors.Is(err, runtime.ErrRegistration) {
		t.Errorf("a registry that has refused something: %v", err)
	}
	stuck, release := make(chan struct{}), make(chan struct{})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-stuck
		cancel(errors.New("enough"))
	}()
	ended := make(chan struct{})
	err := runtime.Replay(ctx, with(t, func(ctx *octx, in int) (int, error) {
		defer close(ended)
		close(stuck)
		<-release
		return before(ctx, in)
	}), h)
	if err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("code that does not return: %v", err)
	}
	close(release)
	<-ended
	other := h
	other.Orchestration = "other"
	e, ok := errors.AsType[*runtime.ReplayError](runtime.Replay(t.Context(), reg, other))
	if !ok || e.Got != "none of that name" || e.EventID != 0 {
		t.Errorf("an orchestration that is not registered: %+v", e)
	}
	other = h
	other.CodeVersion = "9"
	e, ok = errors.AsType[*runtime.ReplayError](runtime.Replay(t.Context(), reg, other))
	if !ok || e.Got != `version ""` || e.Expected != `code of orchestration "main" in version "9"` {
		t.Errorf("a version that is not registered: %+v", e)
	}
}

// replayMain runs the command and returns what it printed.
func replayMain(t *testing.T, reg *runtime.Registry, store provider.Provider, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	opts := runtime.ReplayOptions{Stdout: &out, Stderr: &errs}
	if store != nil {
		opts.Open = func(_ context.Context, db string) (provider.Provider, error) {
			if db != "orders" {
				return nil, errors.New("no such store")
			}
			return kept{store}, nil
		}
	}
	code = runtime.ReplayMain(t.Context(), reg, args, opts)
	return code, out.String(), errs.String()
}

// A kept store stays open when the command closes it.
type kept struct{ provider.Provider }

func (kept) Close() error { return nil }

// Unwrap gives what the store has besides the core.
func (k kept) Unwrap() provider.Provider { return k.Provider }

// The command replays files and stores, prints each difference, and returns 0, 1 or 2.
func TestReplayMain(t *testing.T) {
	t.Parallel()
	store, h := waiting(t, before, "a", "b", "other-c")
	dir := t.TempDir()
	path := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	var text bytes.Buffer
	if err := client.WriteHistory(&text, h); err != nil {
		t.Fatal(err)
	}
	good, twice, cut := path("good", text.String()), path("twice", text.String()+text.String()), path("cut", text.String()[:text.Len()-9])
	same := with(t, before)
	changed := with(t, func(ctx *octx, in int) (int, error) { return in, ctx.Sleep(time.Minute) })
	bad := with(t, before)
	_ = runtime.AddActivity(bad, Double)
	for name, c := range map[string]struct {
		reg    *runtime.Registry
		args   string
		code   int
		out    string // pattern
		errors string
	}{
		"files":         {same, good + " " + twice, 0, `^3 replay, 0 differ, 0 unreadable\n$`, ""},
		"store":         {same, "-db orders", 0, `^3 replay, 0 differ, 0 unreadable\n$`, ""},
		"limit":         {same, "-db orders -limit 2", 0, `^2 replay`, ""},
		"prefix":        {same, "-db orders -id-prefix other-", 0, `^1 replay`, ""},
		"status":        {same, "-db orders -status completed,failed", 0, `^0 replay`, `no instance matches; the orchestrations of this program are \["main"\]`},
		"other name":    {same, "-db orders -name Other", 0, `^0 replay`, "no instance matches"},
		"differs":       {changed, good, 1, `^DIFFERS instance "a", execution 1 of "main"\n  event     2\n  expected  ActivityScheduled of "Double"\n  got       TimerCreated of 1m0s\n  line      .*replay_test\.go:\d+\n  hint      keep .*\n0 replay, 1 differ, 0 unreadable\n$`, ""},
		"some differ":   {changed, "-db orders -id-prefix a", 1, `0 replay, 1 differ`, ""},
		"both":          {changed, cut + " " + good, 1, `^UNREADABLE .*cut: .*cut off[^\n]*\nDIFFERS .*\n(.*\n)*0 replay, 1 differ, 1 unreadable\n$`, ""},
		"cut":           {same, cut + " " + good, 2, `1 replay, 0 differ, 1 unreadable\n$`, ""},
		"no file":       {same, "no-such-file", 2, `^UNREADABLE open no-such-file`, ""},
		"no store":      {same, "-db nothing", 2, `^UNREADABLE opening the store: no such store`, ""},
		"nothing":       {same, "", 2, `^$`, "there is nothing to replay"},
		"both kinds":    {same, "-db orders " + good, 2, `^$`, "give one of them"},
		"lone flag":     {same, "-name main " + good, 2, `^$`, "flag -name selects instances of a store"},
		"unknown flag":  {same, "-x", 2, `^$`, "-help lists the flags"},
		"bad state":     {same, "-db orders -status sleeping", 2, `^$`, `flag -status has "sleeping"`},
		"bad limit":     {same, "-db orders -limit -1", 2, `^$`, "flag -limit"},
		"bad timeout":   {same, "-timeout 0s " + good, 2, `^$`, "flag -timeout"},
		"bad registry":  {bad, good, 2, `^$`, "registering activity"},
		"no registry":   {nil, good, 2, `^$`, "the registry is nil"},
		"help":          {same, "-help", 0, `^$`, "usage: replay"},
		"several flags": {same, "-db orders -name main -status running -timeout 1h", 0, `^3 replay`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := replayMain(t, c.reg, store, strings.Fields(c.args)...)
			if code != c.code || !regexp.MustCompile(c.out).MatchString(stdout) || !regexp.MustCompile(c.errors).MatchString(stderr) ||
				c.errors == "" && stderr != "" {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
	if code, _, stderr := replayMain(t, same, nil, "-db", "orders"); code != 2 || !strings.Contains(stderr, "opens no store") {
		t.Errorf("no opener: %d, %s", code, stderr)
	}
}
