package replay_test

import (
	"testing"
	"time"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/replay"
)

// BenchmarkSwitch delivers one message that wakes one coroutine, which waits again.
func BenchmarkSwitch(b *testing.B) {
	x := live(b, func(s *replay.Scope) error {
		for {
			if _, err := s.Wait(s.Mailbox("box")); err != nil {
				return err
			}
			s.Mailbox("box").Take()
		}
	})
	message := at(1, received("box", "", ""))
	b.ReportAllocs()
	lose(func() {
		for i := 0; b.Loop(); i++ {
			if _, err := x.Deliver(message); err != nil {
				b.Error(err)
				return
			}
			if i%100 == 0 {
				x.Confirm()
			}
		}
	})
}

// BenchmarkReplay replays a chain of a thousand activities: 2,001 events.
func BenchmarkReplay(b *testing.B) {
	const steps = 1000
	code := func(s *replay.Scope) error {
		for range steps {
			if err := await(s, s.Activity(activity("a"))); err != nil {
				return err
			}
		}
		return await(s, s.Timer(time.Hour))
	}
	var messages []history.Event
	for i := range int64(steps) {
		messages = append(messages, at(1, completed(2+2*i)))
	}
	events := live(b, code, messages...).Turn().Events
	b.ReportAllocs()
	for b.Loop() {
		x := newExecution(code)
		lose(func() {
			if err := x.Replay(events); err != nil {
				b.Error(err)
			}
		})
		x.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(events)), "ns/event")
}

// BenchmarkSpawn runs a coroutine that returns at once.
func BenchmarkSpawn(b *testing.B) {
	b.ReportAllocs()
	live(b, func(s *replay.Scope) error {
		for b.Loop() {
			if err := await(s, s.Go(func(*replay.Scope) error { return nil })); err != nil {
				return err
			}
		}
		return nil
	})
}

// BenchmarkConditions delivers one message while a thousand coroutines wait for conditions that stay false.
func BenchmarkConditions(b *testing.B) {
	open := false
	x := live(b, func(s *replay.Scope) error {
		for range 1_000 {
			s.Go(func(s *replay.Scope) error { return until(s, func() bool { return open }) })
		}
		for {
			if err := taken(s, "box"); err != nil {
				return err
			}
		}
	})
	message := at(1, received("box", "", ""))
	b.ReportAllocs()
	lose(func() {
		for i := 0; b.Loop(); i++ {
			if _, err := x.Deliver(message); err != nil {
				b.Error(err)
				return
			}
			if i%100 == 0 {
				x.Confirm()
			}
		}
	})
}
