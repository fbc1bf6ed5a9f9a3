package weaknesses

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// An accepted event is read, goes to the dead letters, or stays with a blocked instance. If the instance ends without
// reading it, it stays in the history. It never vanishes from the store.
func TestWeakness10_NothingIsLostInSilence(t *testing.T) {
	t.Parallel()
	inEveryStore(t, claims{
		"events before anybody asks":                               eventsBeforeTheCode,
		"events before the first turn":                             eventsBeforeTheNode,
		"events and a cancellation before a start that is delayed": beforeDelayedStart,
		"a message that cannot be decoded":                         undecodableMessage,
	})
	inEveryMode(t, claims{
		"more carried over than one fetch holds": manyCarried,
		"hundreds of reads in one turn":          manyReads,
		"a message of a newer release":           newerMessage,
		"cancelled before the first turn":        cancelledBeforeTheNode,
	})
}

// readAll receives n events and returns them in order.
func readAll(ctx *octx, n int) ([]int, error) {
	box := orchestration.Events[int](ctx, "box")
	got := make([]int, 0, n)
	for range n {
		v, err := box.Receive(ctx)
		if err != nil {
			return got, err
		}
		got = append(got, v)
	}
	return got, nil
}

// inOrder fails unless events 0 to n-1 were read.
func inOrder(got []int, n int) error {
	if len(got) != n {
		return fmt.Errorf("read %d events of %d", len(got), n)
	}
	for i, v := range got {
		if v != i {
			return fmt.Errorf("event %d is %d", i, v)
		}
	}
	return nil
}

// manyCarried continues as new with unread events, and others in the inbox. The next execution carries most of them
// once more.
func manyCarried(e *engine) {
	const n = 2*provider.MaxFetchMessages + 300
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, got []int) (string, error) {
		if len(got) < 200 {
			more, err := readAll(ctx, 100)
			if err != nil {
				return "", err
			}
			if err := ctx.Sleep(time.Minute); err != nil { // events that come meanwhile are received
				return "", err
			}
			return "", orchestration.ContinueAsNew(ctx, append(got, more...))
		}
		rest, err := readAll(ctx, n-len(got))
		return "all", errors.Join(err, inOrder(append(got, rest...), n))
	})
	key := e.Create("main", "main", []int{})
	for i := range n - 100 {
		e.Raise(key, "box", i)
	}
	e.Start(reg)
	until(e, "the second execution sleeps", func() bool { i := e.Get(key); return i.Execution == 2 && i.InboxMessages == 1 })
	for i := range 100 {
		e.Raise(key, "box", n-100+i)
	}
	want(e, key, "all")
}

func eventsBeforeTheCode(e *engine) {
	reg := registry(e)
	key := start(e, reg, func(ctx *octx, _ none) (string, error) {
		if _, err := orchestration.Events[none](ctx, "now").Receive(ctx); err != nil {
			return "", err
		}
		got, err := readAll(ctx, 30)
		return "all", errors.Join(err, inOrder(got, 30))
	}, none{})
	for i := range 30 {
		e.Raise(key, "box", i)
		e.Raise(key, "ignored", i)
	}
	e.Raise(key, "now", none{})
	want(e, key, "all")
	kept(e, key, 30)
}

// kept wants n accepted but unread events to be in the dead letters or in the history.
func kept(e *engine, key provider.UUID, n int) {
	e.T.Helper()
	res, err := e.Store.DeadLetters(e.T.Context(), provider.DeadLettersRequest{Action: provider.DeadLettersList})
	if err != nil {
		e.T.Fatal(err)
	}
	buried, unread := 0, 0
	for _, l := range res.Letters {
		if l.Key == key && l.Kind == provider.MessageKind(history.KindEventReceived) {
			buried++
		}
	}
	for _, event := range e.History(key, 1) {
		if b, ok := event.Body.(*history.EventReceived); ok && b.Name == "ignored" {
			unread++
		}
	}
	if buried+unread != n {
		e.T.Errorf("%d events were accepted and not read: %d are dead letters, %d are in the history", n, buried, unread)
	}
}

func eventsBeforeTheNode(e *engine) {
	key := e.Create("main", "main", none{})
	for i := range 30 {
		e.Raise(key, "box", i)
	}
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
		got, err := readAll(ctx, 30)
		return "all", errors.Join(err, inOrder(got, 30))
	})
	e.Start(reg)
	want(e, key, "all")
}

func cancelledBeforeTheNode(e *engine) {
	key := e.Create("main", "main", none{})
	e.Cancel(key, "enough")
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (none, error) { return none{}, ctx.Sleep(time.Hour) })
	e.Start(reg)
	wantStatus(e, key, provider.StatusCancelled)
}

// beforeDelayedStart sends to an instance whose code may not begin yet. After a cancellation it ends without running
// the code.
func beforeDelayedStart(e *engine) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", func(*octx, none) (string, error) { return "the code began", nil })
	e.Start(reg)
	h, err := client.StartNamed[string](e.T.Context(), newClient(e), "main", none{}, client.WithID("main"), client.WithDelay(time.Hour))
	if err != nil {
		e.T.Fatal(err)
	}
	for i := range 2 {
		e.Raise(h.Key(), "ignored", i)
	}
	e.Cancel(h.Key(), "enough")
	wantStatus(e, h.Key(), provider.StatusCancelled)
	kept(e, h.Key(), 2)
}

// manyReads reads hundreds of events in a turn, and hundreds of times none.
func manyReads(e *engine) {
	const n = 900
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
		if _, err := orchestration.Events[none](ctx, "now").Receive(ctx); err != nil {
			return "", err
		}
		box := orchestration.Events[int](ctx, "box")
		var got []int
		for range 2 * n {
			v, ok, err := box.TryReceive()
			if err != nil {
				return "", err
			}
			if ok {
				got = append(got, v)
			}
		}
		return "all", inOrder(got, n)
	})
	key := e.Create("main", "main", none{})
	for i := range n {
		e.Raise(key, "box", i)
	}
	e.Raise(key, "now", none{})
	e.Start(reg)
	want(e, key, "all")
}

// waitingFor starts an instance that reads two events and returns their sum.
func waitingFor(e *engine) provider.UUID {
	e.T.Helper()
	reg := registry(e)
	return start(e, reg, func(ctx *octx, _ none) (int, error) {
		got, err := readAll(ctx, 2)
		total := 0
		for _, v := range got {
			total += v
		}
		return total, err
	}, none{})
}

func sendRaw(e *engine, key provider.UUID, payload []byte) {
	e.T.Helper()
	_, err := e.Store.Send(e.T.Context(), provider.SendRequest{Key: key, Message: provider.NewMessage{
		Kind: provider.MessageKind(history.KindEventReceived), Payload: payload,
	}})
	if err != nil {
		e.T.Fatal(err)
	}
}

// undecodableMessage blocks the instance at the message. Earlier messages were applied, later ones wait, and
// terminating the instance keeps all of them.
func undecodableMessage(e *engine) {
	key := waitingFor(e)
	e.Raise(key, "box", 1)
	until(e, "the first event is read", func() bool { i := e.Get(key); return i.HistoryLength == 2 && i.InboxMessages == 0 })
	junk := []byte{1, byte(history.KindEventReceived), 0xff, 0xff}
	sendRaw(e, key, junk)
	e.Raise(key, "box", 2)
	i := e.WaitBlocked(key, 1)
	if i.Blocked.Reason != "corrupt" || !strings.Contains(i.Blocked.Message, "message") || i.InboxMessages != 2 || i.Status != provider.StatusRunning {
		e.T.Errorf("%v with %d messages, blocked %+v", i.Status, i.InboxMessages, i.Blocked)
	}
	e.Terminate(key, "enough")
	res, err := e.Store.DeadLetters(e.T.Context(), provider.DeadLettersRequest{Action: provider.DeadLettersList})
	if err != nil || len(res.Letters) != 2 || !bytes.Equal(res.Letters[0].Payload, junk) {
		e.T.Errorf("dead letters %+v, %v", res.Letters, err)
	}
}

// newerMessage leaves a message of a newer release to a node of that release.
func newerMessage(e *engine) {
	key := waitingFor(e)
	until(e, "it waits", func() bool { return e.Get(key).HistoryLength == 1 })
	sendRaw(e, key, []byte{99, byte(history.KindEventReceived), 1, 2, 3})
	e.Raise(key, "box", 2)
	pass(e, time.Hour)
	if i := e.Get(key); i.Blocked != nil || i.InboxMessages != 2 || i.Status != provider.StatusRunning || i.Deliveries > 1 {
		e.T.Errorf("%+v, blocked %+v", i, i.Blocked)
	}
}
