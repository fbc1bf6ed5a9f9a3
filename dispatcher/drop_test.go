package dispatcher_test

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// An event at which the code panics blocks the instance, whatever came with it. The text names it. Without that message everything else is
// handled.
func TestHazard54_OneMessageIsDropped(t *testing.T) {
	t.Parallel()
	for name, create := range map[string]func(*enginetest.Engine) provider.UUID{
		"together":   func(e *enginetest.Engine) provider.UUID { return e.Create("sum", "sum", none{}) },
		"one by one": func(e *enginetest.Engine) provider.UUID { return e.CreateOneByOne("sum", "sum", none{}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			enginetest.EveryMode(t, func(e *enginetest.Engine) {
				reg := registry(e.T)
				enginetest.Orchestration(e.T, reg, "sum", func(ctx *octx, _ none) (sum int, err error) {
					box := orchestration.Events[int](ctx, "box")
					for range 4 {
						n, err := box.Receive(ctx)
						if err != nil {
							return 0, err
						}
						if n < 0 {
							panic(fmt.Sprint("no number: ", n))
						}
						sum += n
					}
					return sum, nil
				})
				key := create(e)
				for _, n := range []int{1, 2, -1, 3, 4} {
					e.Raise(key, "box", n)
				}
				e.Start(reg)
				named := regexp.MustCompile(`message ([0-9]+) \(EventReceived\): .*no number: -1`)
				var found []string
				e.Until("the text names the message", func() bool {
					if b := e.Get(key).Blocked; b != nil {
						found = named.FindStringSubmatch(b.Message)
					}
					return found != nil
				})
				number, err := strconv.ParseInt(found[1], 10, 64)
				if err != nil {
					e.T.Fatal(err)
				}
				c := e.Client(client.Options{})
				if err := c.DropMessage(e.T.Context(), "sum", number, "a test"); err != nil {
					e.T.Fatal(err)
				}
				if err := c.DropMessage(e.T.Context(), "sum", number, ""); !errors.Is(err, client.ErrNotFound) {
					e.T.Errorf("dropped again: %v", err)
				}
				if err := c.DropMessage(e.T.Context(), "sum", 0, ""); !errors.Is(err, client.ErrInvalid) {
					e.T.Errorf("dropped message 0: %v", err)
				}
				if err := c.Unblock(e.T.Context(), "sum"); err != nil {
					e.T.Fatal(err)
				}
				if got := enginetest.Output[int](e, key); got != 10 {
					e.T.Errorf("the others are %d together", got)
				}
				if dead := deadLetters(e); len(dead) != 1 || dead[0].Reason != "a test" {
					e.T.Errorf("dead letters %+v", dead)
				}
				if err := c.DropMessage(e.T.Context(), "sum", 1, ""); !errors.Is(err, client.ErrEnded) {
					e.T.Errorf("dropped after the end: %v", err)
				}
			})
		})
	}
}

// The message that makes an execution begin cannot be dropped: the first one, and that of an execution which continues another one.
func TestHazard54_StartsAreNotDropped(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "next", func(ctx *octx, n int) (int, error) {
			if n < 1 {
				return 0, orchestration.ContinueAsNew(ctx, n+1)
			}
			panic("always")
		})
		e.Start(reg)
		key := e.Create("next", "next", 0)
		idle := e.Create("idle", "idle", none{}) // nobody serves it
		e.Until("it is blocked", func() bool { return e.Get(key).Blocked != nil })
		c := e.Client(client.Options{})
		for id, last := range map[string]int64{"next": e.Get(key).HistoryLength + 3, "idle": e.Get(idle).HistoryLength + 3} {
			refused := 0
			for n := range last {
				switch err := c.DropMessage(e.T.Context(), id, n+1, ""); {
				case errors.Is(err, client.ErrInvalid):
					refused++
				case !errors.Is(err, client.ErrNotFound):
					e.T.Errorf("message %d of %s: %v", n+1, id, err)
				}
			}
			if refused != 1 {
				e.T.Errorf("%d messages of %s are refused, want its start", refused, id)
			}
		}
		for _, key := range []provider.UUID{key, idle} {
			if err := c.Terminate(e.T.Context(), e.Get(key).ID, ""); err != nil {
				e.T.Error(err)
			}
		}
	})
}
