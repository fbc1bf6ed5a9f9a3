package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
)

// Tables show states that a test of commands cannot produce reliably.
func TestShowOfWorkInProgress(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	d := client.Description{
		ID: "order\x1b[31m", Orchestration: "Process", CodeVersion: "v2", Status: client.StatusRunning, Execution: 2, CreatedAt: at, UpdatedAt: at,
		Blocked:      &client.Blocked{Reason: "panic", Message: "boom\ngoroutine 1", Count: 3, Since: at, RetryAt: at.Add(time.Minute)},
		Closing:      &client.Closing{Since: at, Handlers: []client.RunningHandler{{Kind: "event", Name: "s\x1bcan", Count: 2}, {Kind: "event", Name: "add", Count: 1}}},
		Unread:       map[string]int{"stop": 2, "a\x1bdd": 1},
		CustomStatus: json.RawMessage(`{"packed":1}`), Keys: []string{"invoice", "l\x1bist"},
		Attributes: map[string]any{"region": "e\x1bu", "total": int64(7), "vip": true, "due": at},
		Activities: []client.Activity{
			{EventID: 2, Name: "Pack", Queue: "default", State: client.ActivityRunning, Attempt: 1, Deliveries: 2, Owner: "node-1", Heartbeat: json.RawMessage("7")},
			{
				EventID: 4, Name: "Ship", Queue: "slow", State: client.ActivityQueued, Attempt: 3, ScheduledAt: at, NotBefore: at.Add(time.Hour),
				Failure: &client.Failure{Message: "no truck\nat all", Type: "*shop.Error"},
				Attempts: []client.Attempt{
					{Number: 1, Node: "node-1", Began: at, Ended: at.Add(1500 * time.Millisecond), Failure: "no road"},
					{Number: 2, Failure: "no truck"},
				},
			},
		},
	}
	var out bytes.Buffer
	if err := writeTable(&out, func(w *grid) { showTable(w, &d) }); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "show-progress", steady(out.String()))
}

// A history lists the attempts of a call that needed several.
func TestHistoryOfAttempts(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	events := []client.HistoryEvent{
		{ID: 2, Time: at, Kind: "ActivityScheduled", Name: "Ship"},
		{ID: 3, Time: at.Add(5 * time.Second), Kind: "ActivityCompleted", Ref: 2, Attempt: 2, Attempts: []client.Attempt{
			{Number: 1, Node: "node-1", Began: at, Ended: at.Add(time.Second), Failure: "no\x1broad"},
			{Number: 2, Node: "node-2", Began: at.Add(2 * time.Second), Ended: at.Add(5 * time.Second)},
		}},
	}
	var out bytes.Buffer
	if err := writeTable(&out, func(w *grid) { historyTable(w, events) }); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "history-attempts", steady(out.String()))
}

func TestPlainTextCannotSteerTheTerminal(t *testing.T) {
	for in, want := range map[string]string{
		"order-42": "order-42", "Ænne ✓": "Ænne ✓", `a"b\c`: `a"b\c`, "a\tb\nc": `a\tb\nc`, "\x1b[2J": `\x1b[2J`, "\xff": `\xff`,
	} {
		if got := plain(in); got != want {
			t.Errorf("plain(%q) is %q, must be %q", in, got, want)
		}
	}
	if got := short(strings.Repeat("ü", 10), 5); got != "üü..." {
		t.Errorf("short cuts a character: %q", got)
	}
}

// Late lines are printed in order of time, and an outcome after its activity's notices.
func TestTimelineOrder(t *testing.T) {
	var out bytes.Buffer
	line := newJournal(&out)
	at := func(ms int) time.Time { return line.begun.Add(time.Duration(ms) * time.Millisecond) }
	line.addf(at(30), fromProcess, "third")
	line.addf(at(10), fromProcess, "first")
	line.activity(at(20), 2, "second")
	line.event(&client.HistoryEvent{ID: 3, Time: at(19), Kind: "ActivityCompleted", Ref: 2})
	line.event(&client.HistoryEvent{ID: 4, Time: at(19), Kind: "TimerCreated"})
	line.print(at(25))
	want := "   0.010s  process   first\n   0.020s  activity  second\n   0.020s  history    3 ActivityCompleted  of 2\n   0.020s  history    4 TimerCreated\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
	line.finish()
	if !strings.HasSuffix(out.String(), "third\n") {
		t.Errorf("the last line is missing:\n%s", &out)
	}
}
