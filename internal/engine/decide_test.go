package engine_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/perdure/perdure/internal/engine"
	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/provider"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var key = provider.UUID{1, 2, 3}

// execution starts code and applies messages.
func execution(t *testing.T, code func(s *replay.Scope) replay.Result, messages ...history.Body) *replay.Execution {
	t.Helper()
	next := byte(0)
	env := &replay.Env{
		NewKey: func(string) [16]byte { next++; return [16]byte{next} },
		Logger: slog.New(slog.DiscardHandler), Errors: new(failure.Set),
	}
	x := replay.New(env, replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, code)
	t.Cleanup(x.Close)
	all := append([]history.Body{&history.ExecutionStarted{Name: "test", Settings: replay.SettingsAt(replay.EngineLevel)}}, messages...)
	for i, body := range all {
		if _, err := x.Deliver(history.Event{At: int64(i+1) * 1000, Body: body}); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func decide(x *replay.Execution, p engine.Policy) *engine.Decision {
	d := new(engine.Decision)
	engine.Decide(d, x, p)
	return d
}

func policy() engine.Policy {
	return engine.Policy{Level: replay.EngineLevel, Settings: replay.SettingsAt(replay.EngineLevel)}
}

func call(name string) *history.ActivityScheduled {
	return &history.ActivityScheduled{Name: name, Queue: "default"}
}

// forever waits for something that never comes.
func forever(s *replay.Scope) replay.Result {
	_, _ = s.Wait(s.Timer(1000 * time.Hour))
	return replay.Result{Output: []byte("null")}
}

// The same execution and the same policy give the same decision, as often as one asks.
func TestDecideIsPure(t *testing.T) {
	t.Parallel()
	x := execution(t, func(s *replay.Scope) replay.Result {
		s.Activity(call("a"))
		s.Activity(call("given up")).Cancel(failure.ErrCancelled)
		s.Child(&history.ChildStarted{ID: "child", Name: "c"})
		s.StartDetached(&history.DetachedStarted{ID: "other", Name: "c", EndEvent: "ended"})
		s.SendEvent(&history.EventSent{ID: "other", Name: "e"})
		s.SetStatus([]byte(`"busy"`), nil)
		return forever(s)
	})
	first, second := decide(x, policy()), decide(x, policy())
	if diff := cmp.Diff(first, second, cmpopts.IgnoreUnexported(engine.Decision{})); diff != "" {
		t.Errorf("two decisions about the same turn differ:\n%s", diff)
	}
	for _, id := range []provider.UUID{first.Request.Commit, first.Request.Expected, first.Request.Starts[0].Create.Commit} {
		if !id.IsZero() {
			t.Errorf("a decision has the ID %v, which only a node can give", id)
		}
	}
}

// What a turn has called becomes tasks, timers and starts, unless the same turn has given it up or has ended the execution.
func TestCommandsBecomeRequests(t *testing.T) {
	t.Parallel()
	commands := func(s *replay.Scope) {
		s.Activity(call("kept"))
		s.Activity(call("given up")).Cancel(failure.ErrCancelled)
		s.Timer(time.Minute)
		s.Timer(time.Minute).Cancel(failure.ErrCancelled)
		s.Child(&history.ChildStarted{ID: "child", Name: "c"})
	}
	for _, c := range []struct {
		name string
		code func(s *replay.Scope) replay.Result
		want string
	}{
		{"goes on", func(s *replay.Scope) replay.Result {
			commands(s)
			return forever(s)
		}, "Running, tasks [kept], calls [0 -1], 2 timers, starts [child], 0 sends"},
		{"ends", func(s *replay.Scope) replay.Result {
			commands(s)
			return replay.Result{Output: []byte("1")}
		}, "Completed, tasks [], calls [-1 -1], 0 timers, starts [], 0 sends"},
		{"fails", func(s *replay.Scope) replay.Result {
			f := s.Env().Errors.Encode(failure.ErrCancelled)
			return replay.Result{Failure: &f}
		}, "Failed, tasks [], calls [], 0 timers, starts [], 0 sends"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := decide(execution(t, c.code), policy())
			tasks, calls, starts := []string{}, []string{}, []string{}
			for _, task := range d.Request.Tasks {
				tasks = append(tasks, task.Name)
				if task.Lease != nil {
					t.Errorf("the decision leases the task of %s", task.Name)
				}
			}
			for _, call := range d.Calls {
				calls = append(calls, fmt.Sprint(call.Task))
			}
			for _, start := range d.Request.Starts {
				starts = append(starts, start.Create.ID)
			}
			got := fmt.Sprintf("%v, tasks [%s], calls [%s], %d timers, starts [%s], %d sends", d.Request.Status, strings.Join(tasks, " "),
				strings.Join(calls, " "), len(d.Request.Timers), strings.Join(starts, " "), len(d.Request.Sends))
			if !strings.EqualFold(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// The next execution keeps its limits and gets the behaviours that the store allows by now.
func TestNextExecutionIsDecided(t *testing.T) {
	t.Parallel()
	x := execution(t, func(*replay.Scope) replay.Result {
		return replay.Result{Continue: &history.ContinuedAsNew{Input: []byte("2")}}
	})
	p := policy()
	d := decide(x, p)
	p.Settings.Flags |= 1 << 40
	if got := d.Start(x, p).Settings.Flags; got != p.Settings.Flags {
		t.Errorf("the next execution has the flags %b, want %b", got, p.Settings.Flags)
	}
	d.Next()
	if next := d.Request.Next; next == nil || next.Name != "test" || len(next.Events) != 1 || d.Request.Status != provider.StatusRunning {
		t.Errorf("the request has the next execution %+v and the status %v", next, d.Request.Status)
	}
}

// An instance keeps the outcomes of its last 1,000 updates, as long as they are not too large, and always those that a turn adds.
func TestOutcomesAreTrimmed(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 2<<20)
	for _, c := range []struct {
		known, size int // outcomes, and bytes of each beyond the fields
		want        int // that the turn removes
	}{{5, 0, 0}, {1000, 0, 1}, {1200, 0, 201}, {9, len(large), 0}, {12, len(large), 3}} {
		var values []provider.KeyValue
		for i := range c.known {
			s := history.UpdateState{ID: fmt.Sprintf("old%04d", i), Name: "u", Outcome: history.UpdateDone, Ended: int64(i + 1), Output: []byte(large[:c.size])}
			values = append(values, provider.KeyValue{Key: history.UpdateKey(s.ID), Value: history.EncodeUpdateState(s)})
		}
		known, err := engine.ReadOutcomes(values)
		if err != nil {
			t.Fatal(err)
		}
		x := execution(t, func(s *replay.Scope) replay.Result {
			s.HandleUpdate("u", replay.UpdateHandler{Check: func(string, []byte) error { return nil }, Run: func(*replay.Scope, string, []byte) ([]byte, error) { return []byte("1"), nil }})
			return forever(s)
		}, &history.UpdateReceived{Name: "u", ID: "new"})
		p := policy()
		p.Outcomes = known
		d := decide(x, p)
		removed := 0
		for _, kept := range d.Kept {
			if kept.Size == 0 {
				removed++
			}
		}
		if removed != c.want || known.Has("new") {
			t.Errorf("%d outcomes of %d bytes and a new one: %d are removed, want %d; the decision has changed what is known: %v", c.known, c.size, removed, c.want, known.Has("new"))
		}
		known.Keep(d.Kept)
		if !known.Has("new") || c.want > 0 && known.Has("old0000") {
			t.Errorf("%d outcomes of %d bytes: the new one is not kept, or the oldest one is", c.known, c.size)
		}
	}
}
