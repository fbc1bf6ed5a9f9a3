package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/examples/order"
)

// The proof finds effects and outcomes that are lost or duplicated, and heartbeats that are lost.
func TestProofFindsFaults(t *testing.T) {
	good := func(out *bytes.Buffer) *proof {
		events := []client.HistoryEvent{
			{ID: 1, Kind: "ExecutionStarted", Input: []byte(`{"items":[{"quantity":1,"unit_cents":100}]}`)},
			{ID: 2, Kind: "ActivityScheduled", Name: "Shop.Ship"},
			{ID: 3, Kind: "ActivityCompleted", Ref: 2},
		}
		entries := []order.Entry{
			{Event: 2, What: order.EntryAttempt},
			{Event: 2, What: order.EntryEffect, Key: "k"},
			{Event: 2, What: order.EntryAttempt},
			{Event: 2, What: order.EntryRepeat, Key: "k"},
		}
		return &proof{
			out: out, lease: 2 * time.Second, receipt: order.Receipt{Status: order.Shipped}, events: events, entries: entries,
			restart: restart{killed: true, restarted: time.Second, turn: 2 * time.Second, taken: 2 * time.Second, resumedAt: 3, packed: 4},
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(p *proof)
		says  string // "": no fault
	}{
		{"nothing", func(*proof) {}, ""},
		{"a lost outcome", func(p *proof) { p.events[2].Kind = "TimerFired" }, "Shop.Ship (event 2) has 0 outcomes"},
		{"a doubled outcome", func(p *proof) {
			p.events = append(p.events, client.HistoryEvent{ID: 4, Kind: "ActivityFailed", Ref: 2})
		}, "Shop.Ship (event 2) has 2 outcomes"},
		{"a gap", func(p *proof) { p.events[2].ID = 4 }, "event 3 of the history has the ID 4"},
		{"a doubled effect", func(p *proof) { p.entries[3].What = order.EntryEffect }, "applied k 2 times"},
		{"a late turn", func(p *proof) { p.restart.turn += 2100 * time.Millisecond }, ""},
		{"a late activity", func(p *proof) { p.restart.taken += 2100 * time.Millisecond }, ""},
		{"a lost heartbeat", func(p *proof) { p.restart.resumedAt = 0 }, "packing resumed after step 0"},
		{"no turn", func(p *proof) { p.restart.turn = 0 }, "ran no turn"},
		{"no packing", func(p *proof) { p.restart.taken = 0 }, "did not resume packing"},
		{"the wrong end", func(p *proof) { p.receipt.Status = order.Refused }, "the order was refused, which is the wrong outcome"},
		{"no history", func(p *proof) { p.events = nil }, "the order has no history"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			p := good(&out)
			c.spoil(p)
			err := p.conclude()
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("judged %v, must say %q", err, c.says)
			}
			if late := strings.Contains(out.String(), "The restart took longer than 3s"); late != strings.Contains(c.name, "late") {
				t.Errorf("it must say that a restart is late, and no other: %s", &out)
			}
			if praised := strings.Contains(out.String(), "Every outcome was observed once"); praised != (err == nil) {
				t.Errorf("%v, but it says: %s", err, &out)
			}
			if err != nil && codeOf(err) != exitFailure {
				t.Errorf("exit code %d", codeOf(err))
			}
		})
	}
}

// What a line tells, from the timeline of a demo: what the first worker did before it was killed, and the second one after it.
func TestRestartReadsTheTimeline(t *testing.T) {
	read := func(lines string) (r restart) {
		for line := range strings.Lines(lines) {
			r.read(strings.TrimSuffix(line, "\n"))
		}
		return r
	}
	const before = `perdure demo: order o 1 of Ann, total 149.70
   0.001s  process   worker 11 started
   0.080s  client    started o 1-5f3a
   0.090s  history    1 ExecutionStarted   perdure-demo.Process
   0.300s  activity  perdure-demo.Pack attempt 1 begins
   0.400s  activity  perdure-demo.Pack did step 1 of 10
   0.500s  activity  perdure-demo.Pack did step 3 of 10
   0.600s  process   worker 11 killed with SIGKILL
   0.610s  process   worker 12 started
   0.650s  process   worker 12 is ready
   0.660s  client    raised approval: the manager approves
`
	want := restart{id: "o 1-5f3a", packed: 3, killed: true, restarted: 610 * time.Millisecond}
	if got := read(before); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	const after = `   2.700s  history    7 EventReceived      approval
   2.800s  activity  perdure-demo.Pack did step 4 of 10
   2.900s  activity  perdure-demo.Pack resumes after step 2 of 10, from the last stored heartbeat (attempt 1, delivery 2)
   3.000s  history    8 ActivityCompleted  of 5 perdure-demo.Pack
   3.100s  activity  perdure-demo.Pack attempt 2 begins
`
	want.turn, want.taken, want.resumedAt = 2700*time.Millisecond, 2900*time.Millisecond, 2
	if got := read(before + after); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	want.turn, want.taken, want.resumedAt = 0, 700*time.Millisecond, 0
	if got := read(before + "   0.700s  activity  perdure-demo.Pack attempt 1 begins again (delivery 2)\n"); got != want {
		t.Errorf("begun anew: %+v, want %+v", got, want)
	}
}
