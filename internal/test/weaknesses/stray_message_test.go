package weaknesses

import (
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// A message that the execution does not wait for is dropped and counted. It becomes no event, so no replay can fail on
// it either.
func TestWeakness05_StrayMessageIsIgnored(t *testing.T) {
	t.Parallel()
	inEveryMode(t, claims{
		"answers to events that nobody knows":       func(e *engine) { strays(e, unknownAnswers(), false) },
		"answers to calls that were answered":       func(e *engine) { strays(e, repeatedAnswers(), false) },
		"between messages that mean something":      func(e *engine) { strays(e, append(unknownAnswers(), repeatedAnswers()...), true) },
		"the result of an older execution":          olderExecution,
		"answers to what was given up":              givenUpAnswers,
		"a second failure while its caller cleans":  secondFailure,
		"answers that nobody waits for at the end":  strayAtTheEnd,
		"a stray that waits with a later execution": strayOverContinueAsNew,
	})
}

// asking is an orchestration that makes calls in events 2, 4, 6 and 8, which end in events 3, 5, 7 and 9. Then it
// waits.
func asking(ctx *octx, _ none) (string, error) {
	if _, err := orchestration.CallActivity(ctx, Double, 1); err != nil {
		return "", err
	}
	if _, err := orchestration.CallActivity(ctx, Refuse, none{}); err == nil {
		return "", errors.New("the failure was lost")
	}
	if _, err := orchestration.CallOrchestration(ctx, Echo, 1); err != nil {
		return "", err
	}
	if err := ctx.Sleep(time.Millisecond); err != nil {
		return "", err
	}
	return orchestration.Events[string](ctx, "end").Receive(ctx)
}

func unknownAnswers() []history.Body {
	return []history.Body{
		&history.ActivityCompleted{Scheduled: 99_999, Output: []byte("1")}, &history.ActivityFailed{Scheduled: 99_999},
		&history.TimerFired{Timer: 99_999}, &history.ChildCompleted{Started: 99_999}, &history.ChildFailed{Started: 99_999},
		// These name an event that is no call, and no event at all.
		&history.ActivityCompleted{Scheduled: 1}, &history.ActivityFailed{}, &history.TimerFired{}, &history.ChildFailed{Started: -1},
	}
}

func repeatedAnswers() []history.Body {
	return []history.Body{
		&history.ActivityCompleted{Scheduled: 2, Output: []byte("4")}, &history.ActivityFailed{Scheduled: 2}, // failure after completion
		&history.ActivityFailed{Scheduled: 4}, &history.ActivityFailed{Scheduled: 4}, &history.ActivityCompleted{Scheduled: 4},
		&history.ChildCompleted{Started: 6}, &history.ChildFailed{Started: 6}, &history.TimerFired{Timer: 8},
		&history.ExecutionStarted{Name: "main"}, &history.ExecutionOpened{},
	}
}

// strays sends messages to a waiting orchestration, in a batch with its event or before.
func strays(e *engine, bodies []history.Body, batch bool) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", asking)
	rt := e.Start(reg)
	key := e.Create("main", "main", none{})
	const length = 9 // the start, four calls and their results
	until(e, "it waits", func() bool { return e.Get(key).HistoryLength == length })
	if batch {
		e.Stop(rt)
	}
	for _, body := range bodies {
		send(e, key, 1, body)
		send(e, key, 0, body)
	}
	if batch {
		e.Raise(key, "end", "well")
		for _, body := range bodies {
			send(e, key, 1, body)
		}
		e.Start(reg)
	} else {
		until(e, "the strays are consumed", func() bool { return e.Get(key).InboxMessages == 0 })
		if i := e.Get(key); i.Blocked != nil || i.HistoryLength != length {
			e.T.Errorf("%d events, blocked %+v", i.HistoryLength, i.Blocked)
		}
		until(e, "all are counted as dropped", func() bool { return rt.Stats().MessagesDropped == int64(2*len(bodies)) }) // after the commit
		e.Raise(key, "end", "well")
	}
	want(e, key, "well")
	if got, want := kinds(e, key, 1), "ExecutionStarted ActivityScheduled ActivityCompleted ActivityScheduled ActivityFailed "+
		"ChildStarted ChildCompleted TimerCreated TimerFired EventReceived ExecutionCompleted"; got != want {
		e.T.Errorf("history %s", got)
	}
}

// olderExecution sends the results of execution 1 under the event ID for which execution 2 waits.
func olderExecution(e *engine) {
	reg := registry(e)
	key := start(e, reg, func(ctx *octx, n int) (string, error) {
		if n == 0 {
			return "", orchestration.ContinueAsNew(ctx, 1)
		}
		if _, err := orchestration.SideEffect(ctx, func() (int, error) { return 0, nil }); err != nil {
			return "", err
		}
		return orchestration.CallActivityNamed[string](ctx, "nowhere", none{}) // event 4; no node has it
	}, 0)
	until(e, "execution 2 waits", func() bool { i := e.Get(key); return i.Execution == 2 && i.HistoryLength == 4 })
	send(e, key, 1, &history.ActivityCompleted{Scheduled: 4, Output: []byte(`"old"`)})
	send(e, key, 1, &history.ActivityFailed{Scheduled: 4})
	send(e, key, 3, &history.ActivityCompleted{Scheduled: 4, Output: []byte(`"future"`)})
	until(e, "the strays are consumed", func() bool { return e.Get(key).InboxMessages == 0 })
	send(e, key, 2, &history.ActivityCompleted{Scheduled: 4, Output: []byte(`"mine"`)})
	want(e, key, "mine")
}

// givenUpAnswers lets every cancelled operation end late, all at once.
func givenUpAnswers(e *engine) {
	reg := registry(e)
	key := start(e, reg, func(ctx *octx, _ none) (string, error) {
		scope, cancel := ctx.WithCancel()
		orchestration.StartActivityNamed[none](scope, "nowhere", none{})      // event 2
		orchestration.StartOrchestrationNamed[none](scope, "nowhere", none{}) // event 3
		orchestration.StartTimer(scope, time.Hour)                            // event 4
		if _, err := orchestration.Events[none](ctx, "go").Receive(ctx); err != nil {
			return "", err
		}
		cancel()
		return orchestration.Events[string](ctx, "end").Receive(ctx)
	}, none{})
	e.Raise(key, "go", none{})
	until(e, "all is given up", func() bool { return e.Get(key).HistoryLength == 8 })
	for _, body := range []history.Body{
		&history.ActivityCompleted{Scheduled: 2, Output: []byte("{}")}, &history.ActivityFailed{Scheduled: 2},
		&history.ChildCompleted{Started: 3, Output: []byte("{}")}, &history.ChildFailed{Started: 3}, &history.TimerFired{Timer: 4},
	} {
		send(e, key, 1, body)
	}
	e.Raise(key, "end", "well")
	want(e, key, "well")
	if n := e.Get(key).HistoryLength; n != 10 {
		e.T.Errorf("the strays became events: %s", kinds(e, key, 1))
	}
}

// secondFailure repeats the failure of a call while the code already cleans up after it.
func secondFailure(e *engine) {
	reg := registry(e)
	key := start(e, reg, func(ctx *octx, _ none) (string, error) {
		_, err := orchestration.CallActivityNamed[none](ctx, "nowhere", none{}) // event 2
		if err == nil {
			return "", errors.New("the failure was lost")
		}
		return orchestration.CallActivityNamed[string](ctx, "nowhere", none{}) // event 4
	}, none{})
	until(e, "it waits", func() bool { return e.Get(key).HistoryLength == 2 })
	for range 3 {
		send(e, key, 1, &history.ActivityFailed{Scheduled: 2, Failure: history.Failure{Message: "refused"}})
	}
	until(e, "it cleans up", func() bool { return e.Get(key).HistoryLength == 4 })
	send(e, key, 1, &history.ActivityCompleted{Scheduled: 4, Output: []byte(`"cleaned"`)})
	want(e, key, "cleaned")
}

// strayAtTheEnd has strays before and behind the message that ends the instance.
func strayAtTheEnd(e *engine) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, _ none) (string, error) {
		return orchestration.Events[string](ctx, "end").Receive(ctx)
	})
	key := e.Create("main", "main", none{})
	for i := range 2 {
		for _, body := range unknownAnswers() {
			send(e, key, 1, body)
		}
		if i == 0 {
			e.Raise(key, "end", "well")
		}
	}
	e.Start(reg)
	want(e, key, "well")
	if s := stats(e); s.TurnLeases != 0 {
		e.T.Errorf("%+v", s)
	}
}

// strayOverContinueAsNew has strays in the inbox when an execution continues as new.
func strayOverContinueAsNew(e *engine) {
	reg := registry(e)
	enginetest.Orchestration(e.T, reg, "main", func(ctx *octx, n int) (string, error) {
		if n < 3 {
			if _, err := orchestration.Events[none](ctx, "next").Receive(ctx); err != nil {
				return "", err
			}
			return "", orchestration.ContinueAsNew(ctx, n+1)
		}
		return orchestration.Events[string](ctx, "end").Receive(ctx)
	})
	key := e.Create("main", "main", 0)
	for range 3 {
		for _, body := range unknownAnswers() {
			send(e, key, 0, body)
			send(e, key, 1, body)
		}
		e.Raise(key, "next", none{})
	}
	e.Raise(key, "end", "well")
	e.Start(reg)
	want(e, key, "well")
	if i := e.Get(key); i.Execution != 4 || i.Status != provider.StatusCompleted {
		e.T.Errorf("%+v", i)
	}
}
