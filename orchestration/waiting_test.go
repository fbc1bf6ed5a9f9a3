package orchestration_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
)

// waitingText returns the text that an instance shows; "": none.
func waitingText(s shown) string {
	s.e.T.Helper()
	d, err := s.h.Describe(s.e.T.Context())
	switch {
	case err != nil:
		s.e.T.Fatal(err)
	case d.Waiting != nil:
		return d.Waiting.Text
	}
	return ""
}

// waitsFor waits until an instance shows another text than before, and compares it and the filtered list.
func (s shown) waitsFor(before, text string) {
	s.e.T.Helper()
	got := before
	s.e.Until("it waits for "+text, func() bool {
		got = waitingText(s)
		return before == text || got != before
	})
	if got != text {
		s.e.T.Fatalf("it waits for %q, want %q", got, text)
	}
	list, err := s.e.Client(client.Options{}).List(s.e.T.Context(), client.Filter{Waiting: true}, client.Page{})
	if err != nil {
		s.e.T.Fatal(err)
	}
	var texts []string
	for i := range list.Items {
		texts = append(texts, list.Items[i].Waiting.Text)
	}
	if want := []string{text}; text != "" && !slices.Equal(texts, want) || text == "" && len(texts) > 0 {
		s.e.T.Errorf("the list of what waits shows %q, want %q", texts, text)
	}
}

// The text of the longest wait is shown as long as that wait lasts, in lists and descriptions, in every mode and store. It makes no event.
func TestHazard128_WaitingTextIsThatOfTheLongestWait(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		s, _ := show(e, func(ctx *octx, _ none) (string, error) {
			ctx.Go(func(ctx *octx) error {
				_, err := orchestration.Events[int](ctx, "second").Receive(ctx, orchestration.Waiting("the second answer"))
				return err
			})
			if _, err := orchestration.Events[int](ctx, "first").Receive(ctx, orchestration.Waiting("the first answer "+strings.Repeat("ü", 200))); err != nil {
				return "", err
			}
			done := false
			ctx.Go(func(ctx *octx) error {
				err := waitGo(ctx)
				done = true
				return err
			})
			if err := ctx.Await(func() bool { return done }, orchestration.Waiting("somebody to go")); err != nil {
				return "", err
			}
			if err := waitGo(ctx); err != nil {
				return "", err
			}
			return "ended", ctx.Sleep(time.Millisecond, orchestration.Waiting("the last"))
		})
		first := "the first answer " + strings.Repeat("ü", 90) + "..."
		s.waitsFor("", first)
		if got := waitingText(s); len(got) > 200 {
			e.T.Errorf("%d bytes", len(got))
		}
		before := e.Get(s.h.Key()).HistoryLength
		e.Raise(s.h.Key(), "first", 1)
		s.waitsFor(first, "the second answer")
		e.Raise(s.h.Key(), "second", 1)
		s.waitsFor("the second answer", "somebody to go")
		s.go1()
		s.waitsFor("somebody to go", "")
		if after := e.Get(s.h.Key()).HistoryLength; after != before+3 {
			e.T.Errorf("three events made %d", after-before)
		}
		s.go1()
		if got, err := s.h.Wait(e.T.Context()); err != nil || got != "ended" {
			e.T.Fatalf("%q, %v", got, err)
		}
		s.waitsFor("", "")
	})
}

// A text that stays is written once. A replay changes nothing, and a reset shows what the code waited for at its point.
func TestHazard128_WaitingTextIsWrittenWhenItChanges(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		s, rt := show(e, func(ctx *octx, _ none) (string, error) {
			for _, what := range []string{"one", "two"} {
				if _, err := orchestration.Events[int](ctx, what).Receive(ctx, orchestration.Waiting("event "+what)); err != nil {
					return "", err
				}
			}
			return "", nil
		})
		s.waitsFor("", "event one")
		since := func() time.Time {
			d, err := s.h.Describe(e.T.Context())
			if err != nil || d.Waiting == nil {
				e.T.Fatalf("%+v, %v", d, err)
			}
			return d.Waiting.Since
		}
		began := since()
		e.Raise(s.h.Key(), "nobody", 1)
		e.Until("it has come", func() bool { return e.Get(s.h.Key()).HistoryLength == 2 })
		s.waitsFor("event one", "event one")
		e.Stop(rt)
		if got := since(); !got.Equal(began) {
			e.T.Errorf("it waits since %v, and since %v after a restart", began, got)
		}
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
			for _, what := range []string{"one", "two"} {
				if _, err := orchestration.Events[int](ctx, what).Receive(ctx, orchestration.Waiting("event "+what)); err != nil {
					return "", err
				}
			}
			return "", nil
		})
		e.Start(reg)
		e.Raise(s.h.Key(), "one", 1)
		s.waitsFor("event one", "event two")
		reset(e, s.h, 2, client.DropLater())
		s.waitsFor("event two", "event one")
	})
}

// What continues as new, is cancelled or has returned waits for nothing.
func TestHazard128_WaitingTextEndsWithTheCode(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		goesOn := time.Second
		if e.Virtual {
			goesOn = 9 * time.Minute
		}
		s, _ := show(e, func(ctx *octx, _ none) (string, error) {
			orchestration.HandleEvent(ctx, "late", func(ctx *octx, _ int) error { return ctx.Sleep(goesOn) })
			ctx.Go(func(ctx *octx) error {
				return ctx.Sleep(time.Hour, orchestration.Waiting("an hour"))
			})
			_, err := orchestration.Events[int](ctx, "end").Receive(ctx)
			return "", err
		})
		s.waitsFor("", "an hour")
		before := e.Get(s.h.Key()).HistoryLength
		e.Raise(s.h.Key(), "late", 1)
		e.Until("the handler runs", func() bool { return e.Get(s.h.Key()).HistoryLength > before })
		e.Raise(s.h.Key(), "end", 1)
		s.waitsFor("an hour", "") // its function has returned, and a handler goes on
		if got := e.Get(s.h.Key()); got.Status.Ended() {
			e.T.Errorf("it has ended: %v", got.Status)
		}
		e.WaitEnded(s.h.Key())
		s.waitsFor("", "")
	})
}

// A release whose code has no text any more clears that of the release before.
func TestHazard128_NewCodeClearsTheTextOfTheOld(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		code := func(opts ...orchestration.ReceiveOption) func(ctx *octx, _ none) (string, error) {
			return func(ctx *octx, _ none) (string, error) {
				if _, err := orchestration.Events[int](ctx, "one").Receive(ctx, opts...); err != nil {
					return "", err
				}
				return "", waitGo(ctx)
			}
		}
		s, rt := show(e, code(orchestration.Waiting("the boss")))
		s.waitsFor("", "the boss")
		e.Stop(rt)
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", code())
		e.Start(reg)
		e.Raise(s.h.Key(), "one", 1)
		s.waitsFor("the boss", "")
	})
}
