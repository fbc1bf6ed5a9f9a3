package enginetest

import (
	"encoding/json"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/bind"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

func (e *Engine) encode(v any) []byte {
	e.T.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		e.T.Fatalf("encoding %T: %v", v, err)
	}
	return data
}

func message(b history.Body) provider.NewMessage {
	return provider.NewMessage{Kind: provider.MessageKind(b.Kind()), Payload: history.Encode(nil, history.Event{Body: b})}
}

// Create starts an instance with the default limits.
func (e *Engine) Create(id, name string, input any) provider.UUID {
	e.T.Helper()
	return e.CreateWith(id, name, input, replay.SettingsAt(replay.EngineLevel))
}

// CreateOneByOne starts an instance as releases before level 7 did: its code runs after each message.
func (e *Engine) CreateOneByOne(id, name string, input any) provider.UUID {
	e.T.Helper()
	return e.CreateWith(id, name, input, replay.SettingsAt(replay.LevelOfTogether-1))
}

// CreateWith starts an instance with limits of its own.
func (e *Engine) CreateWith(id, name string, input any, settings history.Settings) provider.UUID {
	e.T.Helper()
	key := provider.NewKey(id)
	_, err := e.Store.Create(e.T.Context(), provider.CreateRequest{
		ID: id, Key: key, Commit: NewID(), Name: name, EngineLevel: replay.LevelOfHandlers,
		Message: message(&history.ExecutionStarted{Name: name, Input: e.encode(input), Settings: settings}),
	})
	if err != nil {
		e.T.Fatalf("creating %s: %v", id, err)
	}
	return key
}

// Raise sends an event.
func (e *Engine) Raise(key provider.UUID, name string, payload any) {
	e.T.Helper()
	e.RaiseAs(key, name, payload, NewID().String())
}

// RaiseAs sends an event under a request ID.
func (e *Engine) RaiseAs(key provider.UUID, name string, payload any, requestID string) {
	e.T.Helper()
	e.send(key, &history.EventReceived{Name: name, Payload: e.encode(payload), RequestID: requestID})
}

// Cancel cancels an instance.
func (e *Engine) Cancel(key provider.UUID, reason string) {
	e.T.Helper()
	e.send(key, &history.CancelRequested{Reason: reason, RequestID: NewID().String()})
}

func (e *Engine) send(key provider.UUID, b history.Body) {
	e.T.Helper()
	if _, err := e.Store.Send(e.T.Context(), provider.SendRequest{Key: key, Message: message(b)}); err != nil {
		e.T.Fatalf("sending %v: %v", b.Kind(), err)
	}
}

// Steer makes a change that takes no message: suspend, resume, unblock.
func (e *Engine) Steer(key provider.UUID, action provider.SteerAction) {
	e.T.Helper()
	if _, err := e.Store.Steer(e.T.Context(), provider.SteerRequest{Key: key, Action: action, Commit: NewID()}); err != nil {
		e.T.Fatalf("steering: %v", err)
	}
}

// Terminate ends an instance as a client does.
func (e *Engine) Terminate(key provider.UUID, reason string) {
	e.T.Helper()
	f := (*failure.Set)(nil).Encode(failure.New(failure.ErrTerminated, "terminated: %s", reason))
	parent, child := message(&history.ChildFailed{Started: e.Get(key).Parent.EventID, Failure: f}), message(&history.CancelRequested{Reason: reason})
	_, err := e.Store.Steer(e.T.Context(), provider.SteerRequest{
		Key: key, Action: provider.SteerTerminate, Commit: NewID(),
		Event:  history.Encode(nil, history.Event{Body: &history.ExecutionTerminated{Reason: reason}}),
		Result: history.EncodeOutcome(history.Outcome{Failure: &f}), ParentNotice: &parent, ChildNotice: &child,
	})
	if err != nil {
		e.T.Fatalf("terminating: %v", err)
	}
}

// Get returns the stored instance.
func (e *Engine) Get(key provider.UUID) provider.Instance {
	e.T.Helper()
	return e.get(provider.GetRequest{Key: key}).Instance
}

// Tasks returns the pending tasks of an instance.
func (e *Engine) Tasks(key provider.UUID) []provider.TaskInfo {
	e.T.Helper()
	return e.get(provider.GetRequest{Key: key, WithTasks: true}).Tasks
}

func (e *Engine) get(req provider.GetRequest) provider.GetResult {
	e.T.Helper()
	res, err := e.Store.Get(e.T.Context(), req)
	if err != nil {
		e.T.Fatalf("getting the instance: %v", err)
	}
	return res
}

// WaitEnded waits for the end of an instance. In virtual time it also waits until the nodes rest. A waiting client may
// see a commit before its node has counted it and released its slots.
func (e *Engine) WaitEnded(key provider.UUID) provider.Instance {
	e.T.Helper()
	i := e.wait(key, false, func(i *provider.Instance) bool { return i.Status.Ended() })
	if e.Virtual {
		synctest.Wait()
	}
	return i
}

// WaitBlocked waits until an instance has been Blocked the given number of times in a row.
func (e *Engine) WaitBlocked(key provider.UUID, count int64) provider.Instance {
	e.T.Helper()
	return e.wait(key, true, func(i *provider.Instance) bool {
		if i.Status.Ended() {
			e.T.Fatalf("%s ended as %v, want it Blocked", i.ID, i.Status)
		}
		if i.Blocked != nil && i.Blocked.Count < count && i.Blocked.RetryAt == 0 {
			e.T.Fatalf("%s is held: %+v, want %d tries", i.ID, i.Blocked, count)
		}
		return i.Blocked != nil && i.Blocked.Count >= count
	})
}

// EndedOrBlocked waits until an instance has ended or is Blocked.
func (e *Engine) EndedOrBlocked(key provider.UUID) provider.Instance {
	e.T.Helper()
	return e.wait(key, true, func(i *provider.Instance) bool { return i.Status.Ended() || i.Blocked != nil })
}

func (e *Engine) wait(key provider.UUID, blocked bool, done func(*provider.Instance) bool) provider.Instance {
	e.T.Helper()
	for began := time.Now(); ; {
		i := e.get(provider.GetRequest{Key: key, WaitEnded: true, WaitBlocked: blocked, Wait: e.patience()}).Instance
		if done(&i) {
			return i
		}
		if time.Since(began) > e.limit() {
			e.T.Fatalf("waited for %v: %+v, blocked %+v, tasks %+v", e.limit(), i, i.Blocked, e.Tasks(key))
		}
		if blocked && i.Blocked != nil {
			e.pause(began)
		}
	}
}

// patience returns the wait of one storage call.
func (e *Engine) patience() time.Duration {
	if e.Virtual {
		return provider.MaxWait
	}
	return 5 * time.Second
}

// pause lets a little time pass where the storage has nothing to wait for. Virtual time passes faster the longer a test has waited, so
// that one that waits in vain fails within a second, not within minutes.
func (e *Engine) pause(began time.Time) {
	d := 10 * time.Millisecond
	if e.Virtual {
		d = max(500*time.Millisecond, time.Since(began)/100)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// Until polls until cond holds. It serves for state that no storage call waits for, such as counters.
func (e *Engine) Until(what string, cond func() bool) {
	e.T.Helper()
	for began := time.Now(); !cond(); e.pause(began) {
		if time.Since(began) > e.limit() {
			e.T.Fatalf("waited for %v: %s", e.limit(), what)
		}
	}
}

// Output waits for an instance to complete and decodes its output.
func Output[Out any](e *Engine, key provider.UUID) Out {
	e.T.Helper()
	out, err := Result[Out](e, key, nil)
	if err != nil {
		e.T.Fatalf("instance failed: %v", err)
	}
	return out
}

// Result waits for an instance to end and decodes its output or error.
func Result[Out any](e *Engine, key provider.UUID, errs *orchestration.Errors) (Out, error) {
	e.T.Helper()
	i := e.WaitEnded(key)
	outcome, err := history.DecodeOutcome(i.Result)
	if err != nil {
		e.T.Fatalf("decoding the outcome: %v", err)
	}
	if outcome.Failure != nil {
		if errs == nil {
			errs = orchestration.NewErrors()
		}
		var none Out
		return none, bind.SetOf(errs).Decode(*outcome.Failure)
	}
	return bind.Output[Out](outcome.Output)
}

// History reads all events of an execution.
func (e *Engine) History(key provider.UUID, execution int64) []history.Event {
	e.T.Helper()
	var events []history.Event
	for {
		from := int64(len(events)) + 1
		res, err := e.Store.ReadHistory(e.T.Context(), provider.ReadHistoryRequest{Key: key, Execution: execution, From: from})
		if err != nil {
			e.T.Fatalf("reading history: %v", err)
		}
		for _, stored := range res.Events {
			event, err := history.Decode(stored.ID, stored.Data)
			if err != nil || stored.ID != int64(len(events))+1 {
				e.T.Fatalf("event %d after %d events: %v", stored.ID, len(events), err)
			}
			events = append(events, event)
		}
		if !res.More {
			return events
		}
	}
}
