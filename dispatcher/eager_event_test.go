package dispatcher_test

import (
	"fmt"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
)

// A first turn that is made with the start has the events of the start, too. The code sees them once.
func TestEagerStart_TakesTheEvents(t *testing.T) {
	t.Parallel()
	enginetest.EveryMode(t, func(e *enginetest.Engine) {
		e.Off = 0
		w := &writes{Full: e.Store}
		reg := registry(e.T)
		enginetest.Orchestration(e.T, reg, "sum", func(ctx *octx, sum int) (int, error) {
			box := orchestration.Events[int](ctx, "item")
			for {
				n, err := box.Receive(ctx)
				if err != nil || n == 0 {
					return sum, err
				}
				sum += n
			}
		})
		rt, c := serve(e, w, reg, e.Options)
		h := begin(e, c, "sum", client.WithEvent("item", 1), client.WithEvent("item", 2))
		if with, without := w.eager(); with != 1 || without != 0 || rt.Stats().TurnsEager != 1 {
			e.T.Errorf("%d starts with a turn, %d without", with, without)
		}
		if i := e.Get(h.Key()); i.HistoryLength != 3 || i.InboxMessages != 0 {
			e.T.Errorf("%d events, %d messages", i.HistoryLength, i.InboxMessages)
		}
		e.Raise(h.Key(), "item", 0)
		if got := enginetest.Output[int](e, h.Key()); got != 24 {
			e.T.Errorf("got %d", got)
		}
		ended := begin(e, c, "sum", client.WithEvent("item", 3), client.WithEvent("item", 0)) // its first turn ends it, so it is given up
		if got := enginetest.Output[int](e, ended.Key()); got != 24 {
			e.T.Errorf("got %d", got)
		}
		if s := fmt.Sprint(rt.Stats().TurnsEager); s != "1" {
			e.T.Errorf("%s first turns", s)
		}
	})
}
