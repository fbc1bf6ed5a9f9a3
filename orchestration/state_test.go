package orchestration_test

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

type progress struct {
	Done, Of int
	At       string
}

// shown is what an instance of "main" shows.
type shown struct {
	h client.Handle[string]
	e *enginetest.Engine
}

// show starts "main" and a node that runs it.
func show(e *enginetest.Engine, code func(*octx, none) (string, error), opts ...client.StartOption) (shown, *runtime.Runtime) {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "main", code)
	rt := e.Start(reg)
	if e.Virtual {
		synctest.Wait() // the node knows the time, and makes first turns with the start
	}
	h, err := client.StartNamed[string](e.T.Context(), e.Client(client.Options{}), "main", none{}, opts...)
	if err != nil {
		e.T.Fatal(err)
	}
	return shown{h: h, e: e}, rt
}

// reaches waits until the status says that the code is at a place.
func (s shown) reaches(place string) {
	s.e.T.Helper()
	s.e.Until("the code is at "+place, func() bool {
		p, err := client.StatusOf[progress](s.e.T.Context(), s.h)
		return err == nil && p.At == place
	})
}

func (s shown) go1() {
	s.e.T.Helper()
	if err := s.h.Raise(s.e.T.Context(), "go", 1); err != nil {
		s.e.T.Fatal(err)
	}
}

func waitGo(ctx *octx) error {
	_, err := orchestration.Events[int](ctx, "go").Receive(ctx)
	return err
}

// Status, values and attributes are what code has set last, in every mode of a node, and stay after the end.
func TestStateIsWhatWasSetLast(t *testing.T) {
	t.Parallel()
	due := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		s, _ := show(e, func(ctx *octx, _ none) (string, error) {
			ctx.SetStatus(progress{Of: 2, At: "never seen"})
			ctx.SetStatus(progress{Of: 2, At: "begin"})
			orchestration.SetValue(ctx, "gone", 1)
			orchestration.SetValue(ctx, "kept", "first")
			orchestration.SetAttribute(ctx, "region", "us")
			orchestration.SetAttribute(ctx, "count", 7)
			orchestration.SetAttribute(ctx, "vip", true)
			if err := waitGo(ctx); err != nil {
				return "", err
			}
			if n, err := orchestration.CallActivity(ctx, Double, 2); n != 4 || err != nil {
				return "", err
			}
			orchestration.SetValue(ctx, "gone", nil)
			orchestration.SetValue(ctx, "kept", "second")
			orchestration.SetAttribute(ctx, "count", "seven")
			orchestration.SetAttribute(ctx, "due", due)
			ctx.SetStatus(progress{Done: 1, Of: 2, At: "half"})
			if err := waitGo(ctx); err != nil {
				return "", err
			}
			ctx.SetStatus(nil)
			return "done", nil
		}, client.WithID("a"), client.WithAttribute("region", "eu"), client.WithAttribute("tier", int64(1)))
		s.reaches("begin")
		if n, err := client.Value[int](e.T.Context(), s.h, "gone"); n != 1 || err != nil {
			e.T.Errorf("the value is %d, %v", n, err)
		}
		s.go1()
		s.reaches("half")
		if _, err := client.Value[int](e.T.Context(), s.h, "gone"); !errors.Is(err, client.ErrNotSet) {
			e.T.Errorf("the deleted value: %v", err)
		}
		s.go1()
		if out, err := s.h.Wait(e.T.Context()); out != "done" || err != nil {
			e.T.Fatalf("%q, %v", out, err)
		}
		if v, err := client.Value[string](e.T.Context(), s.h, "kept"); v != "second" || err != nil {
			e.T.Errorf("the value is %q, %v", v, err)
		}
		if _, err := client.StatusOf[progress](e.T.Context(), s.h); !errors.Is(err, client.ErrNotSet) {
			e.T.Errorf("the cleared status: %v", err)
		}
		d, err := s.h.Describe(e.T.Context())
		want := map[string]any{"region": "us", "count": "seven", "vip": true, "due": due, "tier": int64(1)}
		if err != nil || !maps.Equal(d.Attributes, want) || !slices.Equal(d.Keys, []string{"kept"}) || d.CustomStatus != nil {
			e.T.Errorf("described as %+v, %v", d, err)
		}
	})
}

// State that code sets rides in commits that are made anyhow: that of the start, and that of a result in memory.
func TestStateRidesAlong(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		s, rt := show(e, func(ctx *octx, _ none) (string, error) {
			ctx.SetStatus(progress{At: "begin"})
			orchestration.SetValue(ctx, "a", 1)
			if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
				return "", err
			}
			ctx.SetStatus(progress{At: "between"})
			orchestration.SetAttribute(ctx, "n", 1)
			if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
				return "", err
			}
			orchestration.SetValue(ctx, "k", 1)
			return "done", nil
		}, client.WithAttribute("first", true))
		if _, err := client.StatusOf[progress](e.T.Context(), s.h); err != nil {
			e.T.Errorf("the start is stored without the status: %v", err)
		}
		e.WaitEnded(s.h.Key())
		if stats := rt.Stats(); stats.TurnsEager != 1 || stats.TurnsFast != 2 || stats.TurnsCommitted != 3 {
			e.T.Errorf("%d turns, %d with the start, %d fast", stats.TurnsCommitted, stats.TurnsEager, stats.TurnsFast)
		}
		d, err := s.h.Describe(e.T.Context())
		if err != nil || string(d.CustomStatus) != `{"Done":0,"Of":0,"At":"between"}` || d.HistoryLength != 6 ||
			!slices.Equal(d.Keys, []string{"a", "k"}) || !maps.Equal(d.Attributes, map[string]any{"first": true, "n": int64(1)}) {
			e.T.Errorf("described as %+v, %v", d, err)
		}
	})
}

// lines is a log that tests read.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

// count returns how many lines have the text.
func (l *lines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), text)
}

// grown is a value that fitted in one release and does not fit in the next one.
type grown struct{ size func() int }

func (g grown) MarshalText() ([]byte, error) { return bytes.Repeat([]byte("x"), g.size()), nil }

// Hazard 55: code takes the same path whether a value fits or not, live and on replay, and also after a release in which the
// type has grown. A value that does not fit becomes a marker, which is logged and counted once.
func TestHazard55_CodeNeverLearnsWhatWasStored(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var log lines
		e.Options.Logger = slog.New(slog.NewTextHandler(&log, nil))
		runs := 0
		s, rt := show(e, func(ctx *octx, _ none) (string, error) {
			runs++
			size := 64<<10 - 1 // with its quotes over the limit
			if runs > 1 {
				size = 1
			}
			orchestration.SetValue(ctx, "large", grown{func() int { return size }})
			orchestration.SetValue(ctx, "small", grown{func() int { return 64<<10 - 2 }})
			orchestration.SetValue(ctx, "func", func() {})
			orchestration.SetValue(ctx, "perdure.mine", 1)
			orchestration.SetAttribute(ctx, "perdure.mine", 1)
			orchestration.SetAttribute(ctx, "", 1)
			orchestration.SetAttribute(ctx, "year", time.Date(12345, 1, 1, 0, 0, 0, 0, time.UTC))
			ctx.SetStatus(strings.Repeat("x", 16<<10))
			if err := waitGo(ctx); err != nil {
				return "", err
			}
			ctx.SetStatus(progress{At: "end"})
			return "done", waitGo(ctx)
		})
		e.Until("the first turn is stored", func() bool { return e.Get(s.h.Key()).HistoryLength > 0 && log.count("could not be stored") >= 7 })
		_, err := client.StatusOf[string](e.T.Context(), s.h)
		if !errors.Is(err, client.ErrNotStored) || !strings.Contains(err.Error(), "16386 bytes") {
			e.T.Errorf("the status that is too large: %v", err)
		}
		for key, says := range map[string]string{"large": "65537 bytes", "func": "cannot be encoded"} {
			if _, err := client.Value[string](e.T.Context(), s.h, key); !errors.Is(err, client.ErrNotStored) || !strings.Contains(err.Error(), says) {
				e.T.Errorf("value %q: %v", key, err)
			}
		}
		if v, err := client.Value[string](e.T.Context(), s.h, "small"); len(v) != 64<<10-2 || err != nil {
			e.T.Errorf("the value that just fits: %d bytes, %v", len(v), err)
		}
		d, err := s.h.Describe(e.T.Context())
		year, _ := d.Attributes["year"].(string)
		if err != nil || len(d.Attributes) != 1 || !strings.Contains(year, "year 12345") || !strings.Contains(d.NotStored, "16386 bytes") ||
			!slices.Equal(d.Keys, []string{"func", "large", "small"}) {
			e.T.Errorf("described as %+v, %v", d, err)
		}
		s.go1()
		s.reaches("end")
		s.go1()
		if out, err := s.h.Wait(e.T.Context()); out != "done" || err != nil {
			e.T.Fatalf("%q, %v", out, err)
		}
		e.WaitEnded(s.h.Key())
		e.Until("7 refusals are counted", func() bool { return rt.Stats().StateRefused == 7 }) // after the commit
		if lines := log.count("could not be stored"); lines != 7 {
			e.T.Errorf("logged %d, want 7", lines)
		}
	})
}

// Hazard 55: one key too many changes nothing for code, and deleting one makes room.
func TestHazard55_AHundredKeys(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		key := func(n int) string { return strings.Repeat("k", n+1) }
		s, rt := show(e, func(ctx *octx, _ none) (string, error) {
			for n := range 101 {
				orchestration.SetValue(ctx, key(n), strings.Repeat("v", 64<<10-2))
				orchestration.SetAttribute(ctx, key(n), n)
			}
			if err := waitGo(ctx); err != nil {
				return "", err
			}
			orchestration.SetValue(ctx, key(0), nil)
			orchestration.SetValue(ctx, key(100), "room")
			return "done", nil
		})
		e.Until("it waits", func() bool {
			_, err := client.Value[string](e.T.Context(), s.h, key(99))
			return err == nil
		})
		d, err := s.h.Describe(e.T.Context())
		if err != nil || len(d.Keys) != 100 || len(d.Attributes) != 100 {
			e.T.Errorf("%d keys and %d attributes, %v", len(d.Keys), len(d.Attributes), err)
		}
		s.go1()
		if _, err := s.h.Wait(e.T.Context()); err != nil {
			e.T.Fatal(err)
		}
		if v, err := client.Value[string](e.T.Context(), s.h, key(100)); v != "room" || err != nil {
			e.T.Errorf("the value in the room of another: %q, %v", v, err)
		}
		e.WaitEnded(s.h.Key())
		e.Until("one key and one attribute are counted", func() bool { return rt.Stats().StateRefused == 2 }) // after the commit
	})
}

// Hazard 78: columns belong to the instance. The next execution finds what the one before has set, and replaces it.
func TestHazard78_ContinueAsNewKeepsTheColumns(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		s, _ := show(e, func(ctx *octx, _ none) (string, error) {
			if ctx.Info().Execution == 1 {
				ctx.SetStatus(progress{At: "first"})
				orchestration.SetValue(ctx, "kept", 1)
				orchestration.SetValue(ctx, "gone", 1)
				orchestration.SetAttribute(ctx, "kept", 1)
				return "", orchestration.ContinueAsNew(ctx, none{})
			}
			if err := waitGo(ctx); err != nil {
				return "", err
			}
			ctx.SetStatus(progress{At: "second"})
			orchestration.SetValue(ctx, "gone", nil)
			return "done", nil
		})
		s.reaches("first")
		s.go1()
		if _, err := s.h.Wait(e.T.Context()); err != nil {
			e.T.Fatal(err)
		}
		s.reaches("second")
		d, err := s.h.Describe(e.T.Context())
		if err != nil || d.Execution != 2 || !slices.Equal(d.Keys, []string{"kept"}) || d.Attributes["kept"] != int64(1) {
			e.T.Errorf("described as %+v, %v", d, err)
		}
	})
}

// A turn whose commit is lost leaves nothing, and the turn that follows stores it.
func TestStateOfALostTurn(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		panics := true
		s, _ := show(e, func(ctx *octx, _ none) (string, error) {
			ctx.SetStatus(progress{At: "begin"})
			if err := waitGo(ctx); err != nil {
				return "", err
			}
			ctx.SetStatus(progress{At: "lost"})
			orchestration.SetValue(ctx, "n", 1)
			if panics {
				panics = false
				panic("once")
			}
			ctx.SetStatus(progress{At: "begin"})
			return "done", nil
		})
		s.reaches("begin")
		s.go1()
		if b := e.WaitBlocked(s.h.Key(), 1); string(b.CustomStatus) != `{"Done":0,"Of":0,"At":"begin"}` {
			e.T.Errorf("the failed turn has stored %s", b.CustomStatus)
		}
		if _, err := s.h.Wait(e.T.Context()); err != nil {
			e.T.Fatal(err)
		}
		s.reaches("begin")
		if n, err := client.Value[int](e.T.Context(), s.h, "n"); n != 1 || err != nil {
			e.T.Errorf("the value is %d, %v", n, err)
		}
	})
}

// A start refuses attributes that code could not set, before anything is stored.
func TestStartRefusesAttributes(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		c := e.Client(client.Options{})
		for says, opt := range map[string]client.StartOption{
			"is empty":      client.WithAttribute("", 1),
			"is reserved":   client.WithAttribute("perdure.x", 1),
			"NUL byte":      client.WithAttribute("a", "\x00"),
			"has 513 bytes": client.WithAttribute("a", strings.Repeat("x", 513)),
			"in the year":   client.WithAttribute("a", time.Unix(math.MaxInt32<<10, 0)),
		} {
			_, err := client.StartNamed[none](e.T.Context(), c, "main", none{}, opt)
			if !errors.Is(err, client.ErrInvalid) || !strings.Contains(err.Error(), says) {
				e.T.Errorf("want %q: %v", says, err)
			}
		}
		if n, err := c.Count(e.T.Context(), client.Filter{}); n != 0 || err != nil {
			e.T.Errorf("%d instances, %v", n, err)
		}
	})
}
