package storagefaults

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/runtime"
)

// waiting registers an orchestration that receives two events and passes each to an activity.
func waiting(tb testing.TB) *runtime.Registry {
	tb.Helper()
	reg := orders(tb)
	enginetest.Orchestration(tb, reg, "waiting", func(ctx *octx, n int) (int, error) {
		for range 2 {
			more, err := orchestration.Events[int](ctx, "more").Receive(ctx)
			if err != nil {
				return 0, err
			}
			if more, err = orchestration.CallActivityNamed[int](ctx, "add", more); err != nil {
				return 0, err
			}
			n += more
		}
		return n, nil
	})
	return reg
}

// garbage is no valid encoding, and not one of a newer release either.
var garbage = []byte{1, byte(history.KindEventReceived), 0xff, 0xff, 0xff}

// One row of an instance is damaged. That instance is Blocked as corrupt with a message that names the damage, and all
// others continue. After the repair the instance continues without any loss.
func TestDamagedRowBlocksItsInstanceOnly(t *testing.T) {
	t.Parallel()
	const (
		events = "perdure_history SET data = ? WHERE key = ? AND first_id = 1"
		inbox  = "perdure_inbox SET payload = ? WHERE key = ?"
	)
	for _, c := range []struct {
		name, row, read, says string
	}{
		{
			"history without its checksum", events,
			"SELECT data FROM perdure_history WHERE key = ? AND first_id = 1", ": unreadable row: column data does not match its checksum",
		},
		{
			"history of another form", "perdure_history SET sum = NULL, data = ? WHERE key = ? AND first_id = 1",
			"SELECT data FROM perdure_history WHERE key = ? AND first_id = 1", "event 1 has 1 bytes: corrupt encoding",
		},
		{
			"message without its checksum", inbox,
			"SELECT payload FROM perdure_inbox WHERE key = ?", "message 3: unreadable row: column payload does not match its checksum",
		},
		{
			"message of another form", "perdure_inbox SET sum = NULL, payload = ? WHERE key = ?",
			"SELECT payload FROM perdure_inbox WHERE key = ?", "message 3: ",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := newFile(t)
			e := engineOn(t, path)
			keys := parkedWaiting(e, 5)
			bad := keys[2]
			for _, key := range keys {
				e.Raise(key, "more", 20)
			}
			sound := value[[]byte](t, path, c.read, bad[:])
			alter(t, path, "UPDATE "+c.row, garbage, bad[:])
			e.Start(waiting(t))
			for _, key := range keys {
				if key != bad && enginetest.Output[int](e, key) != 32 {
					t.Error("a sound instance has another output")
				}
			}
			b := e.WaitBlocked(bad, 1).Blocked
			if b.Reason != "corrupt" || !strings.Contains(b.Message, c.says) {
				t.Errorf("blocked %+v: want it corrupt, saying %q", b, c.says)
			}
			alter(t, path, "UPDATE "+c.row, sound, bad[:])
			e.Steer(bad, provider.SteerUnblock)
			if got := enginetest.Output[int](e, bad); got != 32 {
				t.Errorf("mended, it returned %d", got)
			}
		})
	}
}

// parkedWaiting starts instances, lets each wait for its second event, and stops the node.
func parkedWaiting(e *enginetest.Engine, n int) (keys []provider.UUID) {
	e.T.Helper()
	rt := e.Start(waiting(e.T))
	for i := range n {
		key := e.Create(string(rune('a'+i)), "waiting", 0)
		e.Until("it to wait", func() bool { return e.Get(key).HistoryLength == 1 }) // so that the start has a row of its own
		e.Raise(key, "more", 10)
		keys = append(keys, key)
	}
	for _, key := range keys {
		e.Until("the first event to be dealt with", func() bool {
			i := e.Get(key)
			return i.HistoryLength == 4 && i.InboxMessages == 0
		})
	}
	e.Stop(rt)
	return keys
}

// taskOf starts instances with one waiting task each, and leaves no node.
func taskOf(e *enginetest.Engine, n int) (keys []provider.UUID) {
	e.T.Helper()
	reg := runtime.NewRegistry()
	enginetest.Orchestration(e.T, reg, "calling", calling)
	rt := e.Start(reg)
	for i := range n {
		keys = append(keys, e.Create(string(rune('a'+i)), "calling", i))
	}
	for _, key := range keys {
		e.Until("the task", func() bool { return len(e.Tasks(key)) == 1 })
	}
	e.Stop(rt)
	return keys
}

func calling(ctx *octx, n int) (int, error) {
	return orchestration.CallActivityNamed[int](ctx, "add", n)
}

func TestDamagedTaskBlocksItsInstanceOnly(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	e := engineOn(t, path)
	keys := taskOf(e, 5)
	bad := keys[2]
	sound := value[[]byte](t, path, "SELECT payload FROM perdure_task WHERE key = ?", bad[:])
	alter(t, path, "UPDATE perdure_task SET payload = ? WHERE key = ?", garbage, bad[:])
	reg := orders(t)
	enginetest.Orchestration(t, reg, "calling", calling)
	e.Start(reg)
	for i, key := range keys {
		if key != bad && enginetest.Output[int](e, key) != i+1 {
			t.Error("a sound instance has another output")
		}
	}
	b := e.WaitBlocked(bad, 1).Blocked
	if b.Reason != "corrupt" || !strings.Contains(b.Message, "event 2: unreadable row: column payload does not match its checksum") {
		t.Errorf("blocked %+v: want it corrupt, naming the event", b)
	}
	alter(t, path, "UPDATE perdure_task SET payload = ? WHERE key = ?", sound, bad[:])
	e.Steer(bad, provider.SteerUnblock)
	if got := enginetest.Output[int](e, bad); got != 3 {
		t.Errorf("mended, it returned %d", got)
	}
}

// A task in a form that this release does not know ends its call with a typed error. A copy stays in the dead letters.
func TestTaskOfAnotherFormIsPoisoned(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	e := engineOn(t, path)
	keys := taskOf(e, 3)
	alter(t, path, "UPDATE perdure_task SET sum = NULL, payload = ? WHERE key = ?", garbage, keys[1][:])
	reg := orders(t)
	enginetest.Orchestration(t, reg, "calling", calling)
	e.Start(reg)
	for i, key := range keys {
		out, err := enginetest.Result[int](e, key, nil)
		if i == 1 && !errors.Is(err, failure.ErrPoisoned) || i != 1 && (err != nil || out != i+1) {
			t.Errorf("instance %d returned %d, %v", i, out, err)
		}
	}
	letters, err := e.Store.DeadLetters(t.Context(), provider.DeadLettersRequest{})
	if err != nil || len(letters.Letters) != 1 || letters.Letters[0].Key != keys[1] {
		t.Errorf("dead letters %+v, %v", letters, err)
	}
}

// A damaged result is an error for its readers and affects nobody else.
func TestDamagedOutcomeIsRefused(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	e := engineOn(t, path)
	e.Unchecked("two outcomes are damaged")
	e.Start(orders(t))
	keys := []provider.UUID{order(e, 0), order(e, 1), order(e, 2)}
	checkOrders(e, keys)
	alter(t, path, "UPDATE perdure_outcome SET result = ? WHERE key = ?", garbage, keys[0][:])
	alter(t, path, "UPDATE perdure_outcome SET sum = NULL, result = ? WHERE key = ?", garbage, keys[1][:])
	c := clienttest.New(e.T, e.Store, client.Options{CallTimeout: 5 * time.Second}) // a sound outcome is read in this time, on a busy machine, too
	for i, says := range []string{"column result does not match its checksum", "corrupt encoding", ""} {
		h, err := client.Lookup[int](t.Context(), c, []string{"order-0", "order-1", "order-2"}[i])
		if err == nil {
			_, err = h.Wait(t.Context())
		}
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("order %d returned %v: want %q", i, err, says)
		}
	}
}
