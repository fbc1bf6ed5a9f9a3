package replay_test

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/failure"
	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// waitsForAll begins one operation of each kind and waits for events until it has ended.
func waitsForAll(s *replay.Scope) error {
	box := s.Mailbox("box")
	scope, cancel := s.WithTimeout(time.Hour)
	defer cancel()
	open := []replay.Source{
		s.Activity(activity("work")), scope.Activity(activity("scoped")), s.Timer(time.Minute),
		s.Child(&history.ChildStarted{Name: "child"}), s.Go(func(s *replay.Scope) error { return await(s, s.Timer(time.Second)) }),
	}
	for len(open) > 0 {
		i, err := s.Wait(append([]replay.Source{box}, open...)...)
		if err != nil {
			return err
		}
		if i == 0 {
			if payload, _ := box.Take(); string(payload) == "end" {
				return nil
			}
			continue
		}
		if f, ok := open[i-1].(*replay.Future); ok {
			_, _ = f.Result() // decodes the failure
		}
		open = append(open[:i-1], open[i:]...)
	}
	return nil
}

// pack joins encoded events, each after its length.
func pack(events ...history.Event) []byte {
	var data []byte
	for _, e := range events {
		one := history.Encode(nil, e)
		data = append(binary.AppendUvarint(data, uint64(len(one))), one...)
	}
	return data
}

// unpack returns the events in data, without those that cannot be decoded.
func unpack(data []byte) []history.Event {
	var events []history.Event
	for len(data) > 0 && len(events) < 64 {
		size, n := binary.Uvarint(data)
		if n <= 0 {
			break
		}
		one := data[n:]
		one = one[:min(size, uint64(len(one)))]
		data = data[n+len(one):]
		if e, err := history.Decode(int64(len(events))+1, one); err == nil {
			events = append(events, e)
		}
	}
	return events
}

func seeds() [][]history.Event {
	f := (*failure.Set)(nil).Encode(failure.New(failure.ErrTimeout, "late"))
	return [][]history.Event{
		{at(1, completed(4)), at(2, completed(5)), at(3, &history.TimerFired{Timer: 6}), at(4, &history.ChildCompleted{Started: 7})},
		{at(1, &history.ActivityFailed{Scheduled: 4, Failure: f}), at(2, &history.ChildFailed{Started: 7, Failure: f})},
		{at(1, received("box", "end", "1")), at(2, received("box", "2", "1"))},
		{at(1, &history.CancelRequested{Reason: "fuzz", RequestID: "1"}), at(2, &history.CancelRequested{})},
		{at(1, &history.ExecutionTerminated{Reason: "fuzz"}), at(2, completed(2))},
		{started(), at(1, &history.ExecutionOpened{}), at(2, completed(99)), at(3, completed(-1))},
		{at(1, activity("work")), at(2, &history.ContinuedAsNew{}), at(3, &history.SideEffectRecorded{})},
	}
}

// isTyped reports whether a turn may end with the fault.
func isTyped(err error) bool {
	var (
		deviation *replay.NonDeterminismError
		panicked  *replay.PanicError
	)
	return errors.As(err, &deviation) || errors.As(err, &panicked) || errors.As(err, new(*replay.DeadlockError)) || errors.Is(err, history.ErrCorrupt)
}

// FuzzDeliver gives a running execution any messages that can be decoded. Each is applied,
// ignored or a typed error. The resulting history replays to the same events.
func FuzzDeliver(f *testing.F) {
	for _, events := range seeds() {
		f.Add(pack(events...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x := newExecution(waitsForAll)
		defer x.Close()
		deliver(t, x, started())
		for _, message := range unpack(data) {
			var err error
			if lose(func() { _, err = x.Deliver(message) }) {
				t.Fatalf("%+v took the goroutine along: %v", message.Body, x.View().Fault())
			}
			if err != nil {
				if panicked := new(replay.PanicError); errors.As(err, &panicked) || !isTyped(err) {
					t.Fatalf("%+v: %v", message.Body, err)
				}
				return
			}
		}
		events := x.Turn().Events
		for i, e := range events {
			if e.ID != int64(i)+1 {
				t.Fatalf("event %d at place %d", e.ID, i+1)
			}
		}
		again, err := replayed(t, waitsForAll, events)
		if err != nil || again.View().Length() != x.View().Length() || again.View().Ended() != x.View().Ended() {
			t.Fatalf("replay of %s: length %d for %d, ended %v for %v: %v",
				kinds(events), again.View().Length(), x.View().Length(), again.View().Ended(), x.View().Ended(), err)
		}
	})
}

// FuzzReplay replays any events that can be decoded as a history. They fit the code or give a
// typed error.
func FuzzReplay(f *testing.F) {
	for _, events := range seeds() {
		x := newExecution(waitsForAll)
		deliver(f, x, started())
		whole := append(append([]history.Event{}, x.Turn().Events...), events...)
		x.Close()
		f.Add(pack(whole...))
		f.Add(pack(events...))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if _, err := replayed(t, waitsForAll, unpack(data)); err != nil && !isTyped(err) {
			t.Fatalf("%s: %v", kinds(unpack(data)), err)
		}
	})
}
