package replay_test

import (
	"bytes"
	"log/slog"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// closer continues as new by the plain form beside two Serial updates, of which the second waits for its turn, and an event.
func closer(s *replay.Scope) replay.Result {
	s.HandleUpdate("add", replay.UpdateHandler{
		Serial: true,
		Check:  func(string, []byte) error { return nil },
		Run: func(s *replay.Scope, _ string, input []byte) ([]byte, error) {
			return input, await(s, s.Activity(activity("gate")))
		},
	})
	s.HandleEvent("put", false, func(s *replay.Scope, _ []byte) error { return await(s, s.Activity(activity("gate"))) })
	_, _ = s.Wait(s.Mailbox("roll"))
	s.TookInput()
	return replay.Result{Continue: &history.ContinuedAsNew{Input: []byte("2")}}
}

// A release before told callers success although the next execution lacks what the handlers did. Its histories say so in the outcome, and in
// nothing else. They replay as they did, also where a node of this release goes on: what was told stands, and is not logged or counted.
func TestOldClosingsReplayAsTheyDid(t *testing.T) {
	t.Parallel()
	update := func(id, input string) history.Body {
		return &history.UpdateReceived{Name: "add", ID: id, Input: []byte(input)}
	}
	begin := started()
	begin.Body.(*history.ExecutionStarted).Settings = replay.SettingsAt(replay.LevelOfHandlers)
	messages := []history.Event{
		begin, at(1, update("u-1", "1")), at(2, update("u-2", "2")), at(3, received("put", "3", "")), at(4, received("roll", "", "")),
		at(5, completed(4)), at(6, completed(8)), at(7, completed(14)),
	}
	info := replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}
	of := func(env *replay.Env) *replay.Execution {
		x := replay.New(env, info, closer)
		t.Cleanup(x.Close)
		return x
	}
	x := of(newEnv())
	deliver(t, x, messages...)
	const want = "ExecutionStarted UpdateReceived UpdateAccepted ActivityScheduled UpdateReceived UpdateAccepted EventReceived ActivityScheduled " +
		"EventReceived MainReturned TimerCreated ActivityCompleted UpdateCompleted ActivityScheduled ActivityCompleted ActivityCompleted UpdateCompleted " +
		"ContinuedAsNew"
	old := x.Turn().Events
	if got := kinds(old); got != want {
		t.Fatalf("events %s", got)
	}
	if late := x.Turn().Late; late != 3 {
		t.Errorf("today %d handlers are late", late)
	}
	for i, e := range old {
		if b, ok := e.Body.(*history.UpdateCompleted); ok {
			if b.Outcome != history.UpdateNotCarried {
				t.Errorf("today the outcome is %d", b.Outcome)
			}
			was := *b
			was.Outcome = history.UpdateDone
			old[i].Body = &was
		}
	}
	for n := 1; n <= len(old); n++ {
		if n < len(old) && !old[n].Body.Kind().IsMessage() {
			continue // no turn ends there
		}
		var log bytes.Buffer
		env := newEnv()
		env.Logger = slog.New(slog.NewTextHandler(&log, nil))
		again := of(env)
		if lose(func() {
			if err := again.Replay(old[:n]); err != nil {
				t.Errorf("replaying %s: %v", kinds(old[:n]), err)
			}
		}) {
			t.Fatalf("replaying %s: %v", kinds(old[:n]), again.View().Fault())
		}
		turn := again.Turn()
		if again.View().Ended() != (n == len(old)) || len(turn.Events)+len(turn.Updates)+turn.Late+log.Len() > 0 {
			t.Errorf("after %s: ended %v, %s, %d outcomes, %d late, log %q",
				kinds(old[:n]), again.View().Ended(), kinds(turn.Events), len(turn.Updates), turn.Late, &log)
		}
	}
}

// What one commit may not hold beside the next execution has its turn in this one, as it had before.
func TestALongQueueHasItsTurn(t *testing.T) {
	t.Parallel()
	update := func(id string, size int) history.Body {
		return &history.UpdateReceived{Name: "add", ID: id, Input: bytes.Repeat([]byte("1"), size)}
	}
	for size, carried := range map[int]bool{1 << 20: true, 3 << 19: false} {
		begin := started()
		begin.Body.(*history.ExecutionStarted).Settings = replay.SettingsAt(replay.LevelOfLanguage)
		x := replay.New(newEnv(), replay.Info{ID: "test", Key: key, Execution: 1, Name: "test"}, closer)
		t.Cleanup(x.Close)
		deliver(t, x, begin, at(1, update("u-1", size)), at(2, update("u-2", size)), at(3, update("u-3", size)), at(4, update("u-4", size)),
			at(5, received("roll", "", "")), at(6, completed(4)))
		turn := x.Turn()
		if got := turn.End != nil && len(turn.End.Next) == 5; got != carried {
			t.Errorf("three updates of %d bytes are carried: %v, after %s, then %s", size, got, kinds(turn.Events), kinds(turn.End.Next))
		}
	}
}
