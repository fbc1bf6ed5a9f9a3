package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// logged keeps the lines of a log.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func (l *logged) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(line))
	return len(line), nil
}

// of returns the lines with a text.
func (l *logged) of(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// In an execution of an older release, code that drains its mailbox and returns does not see all events that were accepted. The node logs
// that once, counts them, and the dead letters have those that the code was not given.
func TestHazard04_EventsLeftBehindAreTold(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var log logged
		e.Options.Logger = log.logger()
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "drain", func(ctx *octx, _ none) (int, error) {
			box := orchestration.Events[int](ctx, "box")
			_, err := orchestration.Events[int](ctx, "go").Receive(ctx)
			n := 0
			for ok := true; ok && err == nil; n++ {
				_, ok, err = box.TryReceive()
			}
			return n - 1, err
		})
		key := e.CreateOneByOne("drain", "drain", none{})
		for range 3 {
			e.Raise(key, "other", 0)
		}
		e.Raise(key, "box", 0)
		rt := e.Start(reg)
		synctest.Wait() // what is there was given to the code
		e.Stop(rt)
		e.Raise(key, "go", 0)
		for n := range 4 {
			e.Raise(key, "box", n)
		}
		rt = e.Start(reg)
		if got := enginetest.Output[int](e, key); got != 1 {
			e.T.Errorf("took %d events", got)
		}
		synctest.Wait()
		if s := rt.Stats(); s.EventsBuried != 4 || s.EventsUnread != 3 || len(deadLetters(e)) != 4 {
			e.T.Errorf("%d buried, %d unread, %d dead letters", s.EventsBuried, s.EventsUnread, len(deadLetters(e)))
		}
		lines := log.of("ended before its code took all events")
		if len(lines) != 1 || !strings.Contains(lines[0], "level=WARN") || !strings.Contains(lines[0], "instance=drain") ||
			!strings.Contains(lines[0], `events="\"box\": 4, \"other\": 3"`) || !strings.Contains(lines[0], "dead_letters=4 unread=3") {
			e.T.Errorf("logged %q", lines)
		}
	})
}

// The leftovers of coroutines are logged once, when the end is stored: errors that nobody read, and coroutines that had
// not returned.
func TestCoroutinesLeftBehindAreTold(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var log logged
		e.Options.Logger = log.logger()
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (none, error) {
			ctx.Go(func(*octx) error { return fmt.Errorf("nobody hears: %w", errors.New("lost")) })
			heard := ctx.Go(func(*octx) error { return errors.New("somebody hears") })
			scope, cancel := ctx.WithCancel()
			scope.Go(func(ctx *octx) error { return ctx.Sleep(time.Hour) })
			for range 2 {
				ctx.Go(func(ctx *octx) error { return ctx.Sleep(48 * time.Hour) })
			}
			if _, err := heard.Get(ctx); err == nil {
				return none{}, errors.New("no error")
			}
			cancel()
			if err := ctx.Sleep(time.Hour); err != nil || n == 0 {
				return none{}, err
			}
			return none{}, orchestration.ContinueAsNew(ctx, n-1)
		})
		rt := e.Start(reg)
		e.WaitEnded(e.Create("main", "main", 1))
		synctest.Wait()
		e.Stop(rt)
		if s := rt.Stats(); s.ErrorsUnread != 2 {
			e.T.Errorf("%d errors were not read", s.ErrorsUnread)
		}
		lost, unfinished := log.of("error of a coroutine"), log.of("ended before its coroutines")
		if len(lost) != 2 || !strings.Contains(lost[0], `err="nobody hears: lost"`) || !strings.Contains(lost[1], "execution=2") {
			e.T.Errorf("logged %q", lost)
		}
		if len(unfinished) != 2 || !strings.Contains(unfinished[0], "level=INFO") || !strings.Contains(unfinished[0], "coroutines=2") {
			e.T.Errorf("logged %q", unfinished)
		}
		if len(log.of("took all events")) != 0 {
			e.T.Error("events were left behind")
		}
	})
}

// A panic of an activity is logged where it happens, each time: a retry may hide it from the orchestration.
func TestPanicsOfActivitiesAreLogged(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		var log logged
		e.Options.Logger = log.logger()
		reg := registry(e.T)
		attempt := 0 // one after the other
		enginetest.Activity(e.T, reg, "work", func(context.Context, none) (int, error) {
			attempt++
			switch attempt {
			case 1:
				panic("first")
			case 2:
				runtime.Goexit()
			}
			return attempt, nil
		})
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			return orchestration.CallActivityNamed[int](ctx, "work", none{}, orchestration.WithRetry(orchestration.RetryPolicy{}))
		})
		e.Start(reg)
		if got := enginetest.Output[int](e, e.Create("main", "main", none{})); got != 3 {
			e.T.Errorf("got %d", got)
		}
		lines := log.of("activity panicked")
		if len(lines) != 2 || !strings.Contains(lines[0], `err="panicked: first"`) || !strings.Contains(lines[0], "leftovers_test.go") ||
			!strings.Contains(lines[0], "activity=work instance=main attempt=1") || !strings.Contains(lines[1], "runtime.Goexit") {
			e.T.Errorf("logged %q", lines)
		}
	})
}

// An attempt that was told to stop and obeyed has not failed.
func TestObeyedCancellationsAreNoFailures(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		obey := func(ctx context.Context, _ none) (none, error) {
			<-ctx.Done()
			return none{}, context.Cause(ctx)
		}
		enginetest.Activity(e.T, reg, "obey", obey)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, wait bool) (none, error) {
			limited, cancel := ctx.WithTimeout(time.Minute)
			defer cancel()
			opts := []orchestration.ActivityOption{orchestration.WithRetry(orchestration.RetryPolicy{})}
			if wait {
				opts = append(opts, orchestration.WithCancellation(orchestration.WaitForEnd))
			}
			_, err := orchestration.CallActivityNamed[none](limited, "obey", none{}, opts...)
			if !errors.Is(err, orchestration.ErrCancelled) && !errors.Is(err, orchestration.ErrTimeout) {
				return none{}, fmt.Errorf("got %w", err)
			}
			return none{}, ctx.Sleep(time.Minute)
		})
		rt := e.Start(reg)
		for n, wait := range []bool{false, true} {
			if i := e.WaitEnded(e.Create(fmt.Sprint("main", n), "main", wait)); i.Status != provider.StatusCompleted {
				e.T.Errorf("%v", i.Status)
			}
		}
		synctest.Wait()
		if s := rt.Stats(); s.AttemptsFailed != 0 || s.AttemptsCancelled != 2 {
			e.T.Errorf("%d failed, %d were cancelled", s.AttemptsFailed, s.AttemptsCancelled)
		}
	})
}
