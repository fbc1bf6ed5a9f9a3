package orchestration_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

type cart struct {
	Items []string
	At    time.Time
}

type ask struct {
	Do string
	N  int
}

var errAsked = errors.New("asked for an error")

// shop is an orchestration whose handlers do all that they may and must not. It collects items until it gets "done".
func shop(ctx *octx, _ none) (int, error) {
	items, byName := []string{}, map[string]int{}
	orchestration.HandleQuery(ctx, "cart", func(none) (cart, error) { return cart{Items: items, At: ctx.Now()}, nil })
	orchestration.HandleQuery(ctx, "map", func(none) (map[string]int, error) { return byName, nil })
	orchestration.HandleQuery(ctx, "ask", func(a ask) (string, error) {
		switch a.Do {
		case "read":
			return fmt.Sprintf("%s %v %v %d", ctx.Info().ID, ctx.Err(), ctx.Logger() != nil, len(items)), nil
		case "fail":
			return "", fmt.Errorf("failing: %w", errAsked)
		case "panic":
			items = append(items, "half")
			panic("in a handler")
		case "sleep":
			items = append(items, "half")
			return "", ctx.Sleep(time.Second)
		case "rand":
			items = append(items, "half")
			return ctx.NewUUID().String(), nil
		case "go":
			done := make(chan struct{})
			go func() {
				defer close(done)
				ctx.Now()
			}()
			<-done
			return "", nil
		case "large":
			return strings.Repeat("x", a.N), nil
		case "status":
			ctx.SetStatus("asked")
		case "handle":
			orchestration.HandleQuery(ctx, "more", func(none) (none, error) { return none{}, nil })
		}
		return "", nil
	})
	for {
		item, err := orchestration.Events[string](ctx, "item").Receive(ctx)
		if err != nil || item == "done" {
			return len(items), err
		}
		items = append(items, item)
		byName[item]++
	}
}

// query asks an instance that has n items.
func queryCart(e *enginetest.Engine, h client.Handle[int], n int) cart {
	e.T.Helper()
	for {
		got, err := client.Query[cart](e.T.Context(), h, "cart", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		if len(got.Items) >= n {
			return got
		}
	}
}

func startShop(e *enginetest.Engine) client.Handle[int] {
	e.T.Helper()
	reg := registry(e.T)
	enginetest.Orchestration(e.T, reg, "main", shop)
	e.Start(reg)
	h, err := client.StartNamed[int](e.T.Context(), e.Client(client.Options{}), "main", none{}, client.WithID("shop"))
	if err != nil {
		e.T.Fatal(err)
	}
	return h
}

// A query returns the state after the last turn, while the code waits and after it has returned, and leaves nothing behind.
func TestQuery(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		h := startShop(e)
		if got := queryCart(e, h, 0); len(got.Items) != 0 {
			e.T.Errorf("a new cart has %v", got.Items)
		}
		for i := range 3 {
			e.Raise(h.Key(), "item", fmt.Sprint("item", i))
			if got := queryCart(e, h, i+1); len(got.Items) != i+1 || got.At.IsZero() {
				e.T.Errorf("after %d items: %+v", i+1, got)
			}
		}
		names, err := client.Query[[]string](e.T.Context(), h, "queries", nil)
		if want := []string{"ask", "cart", "map", "queries", "stack"}; err != nil || !slices.Equal(names, want) {
			e.T.Errorf("the queries are %v, %v", names, err)
		}
		stack, err := client.Query[string](e.T.Context(), h, "stack", nil)
		if err != nil || !strings.Contains(stack, "orchestration_test.shop") || strings.Contains(stack, "internal/replay") {
			e.T.Errorf("the stack is %q, %v", stack, err)
		}
		e.Raise(h.Key(), "item", "done")
		e.WaitEnded(h.Key())
		before := e.Get(h.Key())
		if got := queryCart(e, h, 3); !slices.Equal(got.Items, []string{"item0", "item1", "item2"}) {
			e.T.Errorf("after the end: %+v", got)
		}
		if after := e.Get(h.Key()); after.Version != before.Version || after.HistoryLength != before.HistoryLength || after.Deliveries != 0 {
			e.T.Errorf("the query changed the instance from %+v to %+v", before, after)
		}
		if got := kinds(e.History(h.Key(), 1)); strings.Count(got, " ") != 5 {
			e.T.Errorf("the history is %s", got)
		}
	})
}

// Each error of a query is one that the caller can tell apart. None of them touches the instance.
func TestQueryErrors(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		h := startShop(e)
		e.Raise(h.Key(), "item", "tea")
		queryCart(e, h, 1)
		for _, c := range []struct {
			name string
			in   any
			want error
		}{
			{"no such", none{}, client.ErrUnknownQuery},
			{"ask", ask{Do: "fail"}, client.ErrQueryFailed},
			{"ask", ask{Do: "large", N: 2 << 20}, client.ErrTooLarge}, // two bytes more as JSON
			{"ask", "no ask", orchestration.ErrPayload},
			{"", none{}, client.ErrInvalid},
			{"ask", strings.Repeat("x", 3<<20), client.ErrTooLarge},
			{"ask", make(chan int), orchestration.ErrPayload},
		} {
			_, err := client.Query[string](e.T.Context(), h, c.name, c.in)
			for i := 0; errors.Is(err, client.ErrQueryTimeout) && i < 10; i++ { // a busy machine takes 2 s for 2 MiB
				_, err = client.Query[string](e.T.Context(), h, c.name, c.in)
			}
			if !errors.Is(err, c.want) {
				e.T.Errorf("query %q of %.20v: %v, want %v", c.name, c.in, err, c.want)
			}
		}
		_, err := client.Query[string](e.T.Context(), h, "no such", none{})
		if unknown, ok := errors.AsType[*client.UnknownQueryError](err); !ok || len(unknown.Known) != 5 {
			e.T.Errorf("an unknown query: %v", err)
		}
		if _, err := client.Query[int](e.T.Context(), h, "cart", none{}); !errors.Is(err, orchestration.ErrPayload) {
			e.T.Errorf("a cart read as a number: %v", err)
		}
		gone := client.HandleOf[int](e.Client(client.Options{}), "gone", provider.NewKey("gone"))
		if _, err := client.Query[cart](e.T.Context(), gone, "cart", none{}); !errors.Is(err, client.ErrNotFound) {
			e.T.Errorf("an instance that never was: %v", err)
		}
		if _, err := client.Query[cart](e.T.Context(), h, "cart", none{}, nil); !errors.Is(err, client.ErrInvalid) {
			e.T.Errorf("a nil option: %v", err)
		}
		queryCart(e, h, 1)
	})
}

// A call that is more than reading ends the handler and nothing else: the next turn commits as if nobody had asked.
func TestHazard46_QueryDoesNotFailTheTurn(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		h := startShop(e)
		ask := func(do string) (string, error) {
			return client.Query[string](e.T.Context(), h, "ask", ask{Do: do})
		}
		for i, do := range []string{"sleep", "rand", "go", "status", "handle"} {
			e.Raise(h.Key(), "item", do)
			queryCart(e, h, i+1)
			if got, err := ask("read"); err != nil || got != fmt.Sprintf("shop <nil> true %d", i+1) {
				e.T.Errorf("reading: %q, %v", got, err)
			}
			if _, err := ask(do); !errors.Is(err, client.ErrQueryRefused) || !strings.Contains(err.Error(), "query_test.go:") {
				e.T.Errorf("%s: %v", do, err)
			}
		}
		e.Raise(h.Key(), "item", "done")
		if n := enginetest.Output[int](e, h.Key()); n != 5 {
			e.T.Errorf("%d items", n)
		}
		if i := e.Get(h.Key()); i.Blocked != nil {
			e.T.Errorf("blocked: %+v", i.Blocked)
		}
	})
}

// A handler that panics or is refused half-way may have changed variables. The execution in memory is not used any more.
func TestHazard47_SpoiledExecutionIsEvicted(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		h := startShop(e)
		for i, c := range []struct {
			do   string
			want error
		}{{"panic", client.ErrQueryPanicked}, {"sleep", client.ErrQueryRefused}, {"rand", client.ErrQueryRefused}} {
			e.Raise(h.Key(), "item", c.do)
			queryCart(e, h, i+1)
			if _, err := client.Query[string](e.T.Context(), h, "ask", ask{Do: c.do}); !errors.Is(err, c.want) {
				e.T.Errorf("%s: %v", c.do, err)
			}
			if got := queryCart(e, h, i+1); len(got.Items) != i+1 {
				e.T.Errorf("after %s: %v", c.do, got.Items)
			}
		}
		e.Raise(h.Key(), "item", "done")
		if n := enginetest.Output[int](e, h.Key()); n != 3 {
			e.T.Errorf("%d items", n)
		}
	})
}

// A second handler of a name, also of the engine's, fails the turn.
func TestQueryWithTwoHandlers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"twice", "queries", "stack", ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
					for range 2 {
						orchestration.HandleQuery(ctx, name, func(none) (none, error) { return none{}, nil })
					}
					return none{}, nil
				})
				e.Start(reg)
				i := e.WaitBlocked(e.Create("main", "main", none{}), 1)
				if !strings.Contains(i.Blocked.Message, "query") {
					e.T.Errorf("blocked: %+v", i.Blocked)
				}
				h := client.HandleOf[none](e.Client(client.Options{}), "main", i.Key)
				if _, err := client.Query[none](e.T.Context(), h, "twice", none{}); !errors.Is(err, client.ErrBlocked) {
					e.T.Errorf("a query: %v", err)
				}
			})
		})
	}
}

// A blocked instance says so at once, and answers from its stored history if it is asked to.
func TestQueryOfBlocked(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) {
			seen := 0
			orchestration.HandleQuery(ctx, "seen", func(none) (int, error) { return seen, nil })
			for {
				if _, err := orchestration.Events[none](ctx, "event").Receive(ctx); err != nil {
					return none{}, err
				}
				if seen++; seen == 2 {
					panic("the second event")
				}
			}
		})
		e.Start(reg)
		h, err := client.StartNamed[none](e.T.Context(), e.Client(client.Options{}), "main", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		e.Raise(h.Key(), "event", none{})
		e.Until("the first event is there", func() bool {
			n, err := client.Query[int](e.T.Context(), h, "seen", none{})
			return err == nil && n == 1
		})
		e.Raise(h.Key(), "event", none{})
		e.WaitBlocked(h.Key(), 1)
		_, err = client.Query[int](e.T.Context(), h, "seen", none{})
		if blocked, ok := errors.AsType[*client.BlockedError](err); !ok || blocked.Reason != "panic" {
			e.T.Errorf("a blocked instance: %v", err)
		}
		if n, err := client.Query[int](e.T.Context(), h, "seen", none{}, client.EvenBlocked()); err != nil || n != 1 {
			e.T.Errorf("even blocked: %d, %v", n, err)
		}
	})
}

// Query waits for the code to begin, as long as its caller does. Without a node it says that none has answered.
func TestQueryWaitsForTheBeginning(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		c := e.Client(client.Options{})
		h, err := client.StartNamed[int](e.T.Context(), c, "main", none{}, client.WithDelay(300*time.Millisecond))
		if err != nil {
			e.T.Fatal(err)
		}
		brief, cancel := context.WithTimeout(e.T.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := client.Query[cart](brief, h, "cart", none{}); !errors.Is(err, client.ErrUnserved) {
			e.T.Errorf("without a node: %v", err)
		}
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "main", shop)
		e.Start(reg)
		queryCart(e, h, 0)
		stopped, stop := context.WithCancel(e.T.Context())
		stop()
		if _, err := client.Query[cart](stopped, h, "cart", none{}); !errors.Is(err, context.Canceled) {
			e.T.Errorf("given up: %v", err)
		}
	})
}

// Suspended, cancelled, terminated and replaced instances answer, and so does the current execution of one that continues as new.
func TestQueryInEveryStatus(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		h := startShop(e)
		e.Raise(h.Key(), "item", "tea")
		queryCart(e, h, 1)
		e.Steer(h.Key(), provider.SteerSuspend)
		queryCart(e, h, 1)
		e.Terminate(h.Key(), "enough")
		queryCart(e, h, 1)
		_, err := client.StartNamed[int](e.T.Context(), e.Client(client.Options{}), "main", none{}, client.WithID("shop"), client.WithIDPolicy(client.ReplaceEnded))
		if err != nil {
			e.T.Fatal(err)
		}
		if got := queryCart(e, h, 1); len(got.Items) != 1 {
			e.T.Errorf("the replaced one: %v", got.Items)
		}
		fresh, err := client.Lookup[int](e.T.Context(), e.Client(client.Options{}), "shop")
		if err != nil {
			e.T.Fatal(err)
		}
		if got := queryCart(e, fresh, 0); len(got.Items) != 0 {
			e.T.Errorf("the new one: %v", got.Items)
		}
		e.Cancel(fresh.Key(), "enough")
		e.WaitEnded(fresh.Key())
		if got, err := client.Query[string](e.T.Context(), fresh, "ask", ask{Do: "read"}); err != nil || !strings.Contains(got, "cancelled") {
			e.T.Errorf("cancelled: %q, %v", got, err)
		}
	})
}

// A query after an event shows what the event has led to, at once and in any state of the cache.
func TestHazard77_QueryAfterAnEventShowsIt(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		h := startShop(e)
		for i := range 5 {
			id := fmt.Sprint("request-", i)
			if err := h.Raise(e.T.Context(), "item", id, client.WithRequestID(id)); err != nil {
				e.T.Fatal(err)
			}
			got, err := client.Query[cart](e.T.Context(), h, "cart", none{}, client.After(id))
			if err != nil || len(got.Items) != i+1 {
				e.T.Errorf("after event %d: %v, %v", i, got.Items, err)
			}
		}
		brief, cancel := context.WithTimeout(e.T.Context(), time.Second)
		defer cancel()
		if _, err := client.Query[cart](brief, h, "cart", none{}, client.After("never")); !errors.Is(err, client.ErrUnserved) {
			e.T.Errorf("after an event that never was: %v", err)
		}
		if _, err := client.Query[cart](e.T.Context(), h, "cart", none{}, client.After("")); !errors.Is(err, client.ErrInvalid) {
			e.T.Errorf("after no request ID: %v", err)
		}
		e.Raise(h.Key(), "item", "done")
		e.WaitEnded(h.Key())
		if _, err := client.Query[cart](e.T.Context(), h, "cart", none{}, client.After("never")); !errors.Is(err, client.ErrEnded) {
			e.T.Errorf("after the end: %v", err)
		}
		if got, err := client.Query[cart](e.T.Context(), h, "cart", none{}, client.After("request-0")); err != nil || len(got.Items) != 5 {
			e.T.Errorf("after an event of before the end: %v, %v", got.Items, err)
		}
	})
}

// A query waits, so it cannot ride in a transaction of the caller: its options and those of sending do not mix.
func TestHazard85_NoQueryInATransaction(t *testing.T) {
	t.Parallel()
	if _, ok := any(provider.Tx{}).(client.QueryOption); ok {
		t.Error("InTx is an option of Query")
	}
	if _, ok := any(client.EvenBlocked()).(client.StartOption); ok {
		t.Error("an option of Query is one of sending")
	}
}

// A query that nobody answers waits as long as the caller says.
func TestQueryWaitsForTheCaller(t *testing.T) {
	t.Parallel()
	enginetest.Bubble(t, runtime.Options{}, func(e *enginetest.Engine) {
		const patience = 10 * time.Minute
		c := e.Client(client.Options{})
		h, err := client.StartNamed[int](e.T.Context(), c, "nobody serves it", none{})
		if err != nil {
			e.T.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(e.T.Context(), patience)
		defer cancel()
		began := time.Now()
		if _, err := client.Query[int](ctx, h, "n", none{}); !errors.Is(err, client.ErrUnserved) || time.Since(began) < patience {
			e.T.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}
