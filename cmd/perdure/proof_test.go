package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/order"
)

// The demo detects effects that are lost, duplicated or late.
func TestProofFindsFaults(t *testing.T) {
	begun := time.Now()
	good := func() ([]client.HistoryEvent, []order.Entry) {
		events := []client.HistoryEvent{
			{ID: 1, Kind: "ExecutionStarted"},
			{ID: 2, Kind: "ActivityScheduled", Name: "Shop.Ship"},
			{ID: 3, Kind: "ActivityCompleted", Ref: 2, Time: begun.Add(time.Second)},
		}
		entries := []order.Entry{
			{Event: 2, What: order.EntryAttempt},
			{Event: 2, What: order.EntryEffect, Key: "k"},
			{Event: 2, What: order.EntryAttempt},
			{Event: 2, What: order.EntryRepeat, Key: "k"},
		}
		return events, entries
	}
	for _, c := range []struct {
		name  string
		spoil func(p *demoRun, events []client.HistoryEvent, entries []order.Entry) []client.HistoryEvent
		says  string // "": no fault
	}{
		{"nothing", func(_ *demoRun, e []client.HistoryEvent, _ []order.Entry) []client.HistoryEvent { return e }, ""},
		{"a lost outcome", func(_ *demoRun, e []client.HistoryEvent, _ []order.Entry) []client.HistoryEvent {
			e[2].Kind = "TimerFired"
			return e
		}, "Shop.Ship (event 2) has 0 outcomes"},
		{"a doubled outcome", func(_ *demoRun, e []client.HistoryEvent, _ []order.Entry) []client.HistoryEvent {
			return append(e, client.HistoryEvent{ID: 4, Kind: "ActivityFailed", Ref: 2})
		}, "Shop.Ship (event 2) has 2 outcomes"},
		{"a gap", func(_ *demoRun, e []client.HistoryEvent, _ []order.Entry) []client.HistoryEvent {
			e[2].ID = 4
			return e
		}, "event 3 of the history has the ID 4"},
		{"a doubled effect", func(_ *demoRun, e []client.HistoryEvent, entries []order.Entry) []client.HistoryEvent {
			entries[3].What = order.EntryEffect
			return e
		}, "applied k 2 times"},
		{"a late turn", func(p *demoRun, e []client.HistoryEvent, _ []order.Entry) []client.HistoryEvent {
			e[2].Time = begun.Add(3100 * time.Millisecond)
			return e
		}, ""},
		{"a late activity", func(p *demoRun, e []client.HistoryEvent, _ []order.Entry) []client.HistoryEvent {
			p.taken = begun.Add(3100 * time.Millisecond)
			return e
		}, ""},
		{"a lost heartbeat", func(p *demoRun, e []client.HistoryEvent, _ []order.Entry) []client.HistoryEvent {
			p.resumedAt = 0
			return e
		}, "packing resumed after step 0"},
		{"no turn", func(p *demoRun, e []client.HistoryEvent, _ []order.Entry) []client.HistoryEvent {
			p.killed = 3
			return e
		}, "ran no turn"},
		{"the wrong end", func(p *demoRun, e []client.HistoryEvent, _ []order.Entry) []client.HistoryEvent {
			p.order.Decline = true
			return e
		}, "the order was shipped, which is the wrong outcome"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			p := &demoRun{out: &out, lease: 2 * time.Second, restarted: begun, taken: begun.Add(time.Second), resumedAt: 3, killed: 2}
			events, entries := good()
			events = c.spoil(p, events, entries)
			err := p.judge(order.Receipt{Status: order.Shipped}, events, observe(events, entries))
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("judged %v, must say %q", err, c.says)
			}
			if late := strings.Contains(out.String(), "The restart took longer than 3s"); late != strings.Contains(c.name, "late") {
				t.Errorf("it must say that a restart is late, and no other: %s", &out)
			}
			if err != nil && codeOf(err) != exitFailure {
				t.Errorf("exit code %d", codeOf(err))
			}
		})
	}
	if codeOf(errors.Join(errDemoTime)) != exitFailure {
		t.Error("a demo that does not end must fail")
	}
}
