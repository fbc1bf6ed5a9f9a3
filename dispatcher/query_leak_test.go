package dispatcher_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// However long a query hangs that is asked again and again, no more than three of its handlers run. When they return, it is asked again.
func TestHazard48_LeaksOfAQueryAreFew(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		release := make(chan struct{})
		rt := askingNode(e, e.Options, func(int) { <-release })
		h := startCounter(e, rt, "one")
		for range 100 {
			if _, err := askN(e.T.Context(), h); !errors.Is(err, client.ErrQueryTimeout) && !errors.Is(err, client.ErrQueryRefused) {
				e.T.Errorf("it hangs: %v", err)
			}
			<-time.After(45 * time.Second)
		}
		if s := rt.Stats(); s.QueriesLeaked != 3 || s.QueriesRunning != 3 {
			e.T.Errorf("%d leaked, %d of them run", s.QueriesLeaked, s.QueriesRunning)
		}
		if _, err := askN(e.T.Context(), h); !errors.Is(err, client.ErrQueryRefused) || !strings.Contains(err.Error(), "still run") {
			e.T.Errorf("three run: %v", err)
		}
		close(release)
		e.Until("they return", func() bool { return rt.Stats().QueriesRunning == 0 })
		if n, err := askN(e.T.Context(), h); err != nil || n != 0 {
			e.T.Errorf("later: %d, %v", n, err)
		}
	})
}

// A caller that does not wait for a handler makes no leak of it, and the query is not refused.
func TestHazard48_ImpatientCallersMakeNoLeaks(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		rt := askingNode(e, e.Options, func(int) { <-time.After(20 * time.Millisecond) })
		h := startCounter(e, rt, "one")
		for i := range 3 {
			ctx, cancel := context.WithTimeout(e.T.Context(), time.Duration(10+i)*time.Millisecond)
			if _, err := askN(ctx, h); !errors.Is(err, client.ErrQueryTimeout) && !errors.Is(err, client.ErrUnserved) {
				e.T.Errorf("call %d: %v", i, err)
			}
			cancel()
			ctx, cancel = context.WithCancel(e.T.Context())
			time.AfterFunc(10*time.Millisecond, cancel)
			if _, err := askN(ctx, h); !errors.Is(err, context.Canceled) {
				e.T.Errorf("cancelled call %d: %v", i, err)
			}
			<-time.After(100 * time.Millisecond)
		}
		if n, err := askN(e.T.Context(), h); err != nil || n != 0 {
			e.T.Errorf("a patient caller: %d, %v", n, err)
		}
		if s := rt.Stats(); s.QueriesLeaked != 0 {
			e.T.Errorf("%d leaked", s.QueriesLeaked)
		}
	})
}

// A handler that hangs is a leak after 2 s, although its caller waited for a moment only.
func TestHazard48_ImpatientCallersHideNoLeak(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		release := make(chan struct{})
		rt := askingNode(e, e.Options, func(int) { <-release })
		h := startCounter(e, rt, "one")
		ctx, cancel := context.WithTimeout(e.T.Context(), 10*time.Millisecond)
		defer cancel()
		if n, err := askN(ctx, h); err == nil {
			e.T.Errorf("it hangs: %d", n)
		}
		<-time.After(1900 * time.Millisecond)
		if s := rt.Stats(); s.QueriesLeaked != 0 {
			e.T.Errorf("%d leaked before 2 s", s.QueriesLeaked)
		}
		<-time.After(200 * time.Millisecond)
		if s := rt.Stats(); s.QueriesLeaked != 1 || s.QueriesRunning != 1 {
			e.T.Errorf("%d leaked, %d run", s.QueriesLeaked, s.QueriesRunning)
		}
		close(release)
		e.Until("it returns", func() bool { return rt.Stats().QueriesRunning == 0 })
	})
}

// During a deploy a node with older code leaves a question to the nodes that know the patch of the history.
func TestQueryDuringADeploy(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		code := func(patched bool) *runtime.Registry {
			reg := registry(e.T)
			enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
				orchestration.HandleQuery(ctx, "q", func(none) (int, error) { return 1, nil })
				if patched && ctx.Patched("p") {
					if err := ctx.Sleep(time.Second); err != nil {
						return 0, err
					}
				}
				return orchestration.Events[int](ctx, "event").Receive(ctx)
			})
			return reg
		}
		newer := e.Start(code(true))
		h, err := client.StartNamed[int](e.T.Context(), e.Client(client.Options{}), "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		<-time.After(10 * time.Second)
		older := e.Start(code(false))
		ask := func() error {
			ctx, cancel := context.WithTimeout(e.T.Context(), 5*time.Minute)
			defer cancel()
			_, err := client.Query[int](ctx, h, "q", none{})
			return err
		}
		for i := 0; i < 20 || older.Stats().QueriesCold == 0 && i < 2000; i++ { // either node may take a question
			<-time.After(7 * time.Second)
			if err := ask(); err != nil {
				e.T.Errorf("query %d: %v", i, err)
			}
		}
		if older.Stats().QueriesCold == 0 {
			e.T.Error("the node with the older code was never asked")
		}
		e.Stop(newer)
		if err := ask(); !errors.Is(err, client.ErrUnserved) {
			e.T.Errorf("only older code: %v", err)
		}
	})
}

// The text of the query "stack" is cut, and says how much is missing.
func TestHazard48_StackIsBounded(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			for range 1_500 {
				ctx.Go(func(ctx *octx) error { return deep(ctx, 10) })
			}
			return orchestration.Events[int](ctx, "event").Receive(ctx)
		})
		rt := e.Start(reg)
		h, err := client.StartNamed[int](e.T.Context(), clienttest.Of(e.T, rt, client.Options{}), "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		text, err := client.Query[string](e.T.Context(), h, "stack", nil)
		if err != nil || len(text) < 1<<20-2_000 || len(text) > 1<<20+100 {
			e.T.Fatalf("%d bytes, %v", len(text), err)
		}
		end := text[strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n")+1:]
		shown := strings.Count(text, "coroutine ")
		if want := fmt.Sprintf("%d more coroutines wait: at most 1024 KiB are shown\n", 1_501-shown); end != want {
			e.T.Errorf("the last line is %q, want %q", end, want)
		}
	})
}

// deep waits at the end of so many calls.
func deep(ctx *octx, calls int) error {
	if calls > 0 {
		return deep(ctx, calls-1)
	}
	_, err := orchestration.Events[int](ctx, "other").Receive(ctx)
	return err
}

// smallAnswers refuses answers of more than 1,000 bytes.
type smallAnswers struct{ *provider.Full }

func (s smallAnswers) Answer(ctx context.Context, req provider.AnswerRequest) error {
	if len(req.Payload) > 1_000 {
		return fmt.Errorf("%w: 1,000 bytes are enough", provider.ErrTooLarge)
	}
	return s.Full.Answer(ctx, req)
}

// An answer that the store refuses for its size reaches the asker as an error, at once.
func TestHazard48_AnswerThatTheStoreRefusesIsTooLarge(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (int, error) {
			orchestration.HandleQuery(ctx, "q", func(none) (string, error) { return strings.Repeat("a", 2_000), nil })
			return orchestration.Events[int](ctx, "event").Receive(ctx)
		})
		e.StartOn(smallAnswers{e.Store}, reg, e.Options)
		h, err := client.StartNamed[int](e.T.Context(), e.Client(client.Options{}), "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		began := time.Now()
		_, err = client.Query[string](e.T.Context(), h, "q", none{})
		if took := time.Since(began); !errors.Is(err, client.ErrTooLarge) || took > time.Second {
			e.T.Errorf("%v after %v", err, took)
		}
	})
}
