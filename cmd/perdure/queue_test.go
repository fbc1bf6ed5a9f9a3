package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
)

// The list of queues and an instance say why an activity has not begun, each in the words of the client.
func TestReasonsAreShown(t *testing.T) {
	t.Parallel()
	why := client.NotBegun{Reason: client.NotBegunNoNode, Text: `no node serves queue "mail" with activity Send`}
	next := client.NotBegun{Reason: client.NotBegunNext, Text: "it is next"}
	var out strings.Builder
	err := writeTable(&out, func(w *grid) {
		queuesTable(w, []operate.QueueInfo{
			{Queue: "mail", Waiting: 3, Unserved: []string{"Send"}, NotBegun: []operate.WaitingActivity{{Activity: "Send", Waiting: 3, NotBegun: why}}},
			{Queue: "bank", Waiting: 1, NotBegun: []operate.WaitingActivity{{Activity: "Pay", Waiting: 1, NotBegun: next}}},
			{Queue: "rest", Waiting: 1, Paused: &operate.Order{Reason: "holiday"}, NotBegun: []operate.WaitingActivity{{Activity: "Sleep", Waiting: 1, NotBegun: why}}},
		})
		showTable(w, &client.Description{Activities: []client.Activity{{EventID: 2, Name: "Send", Queue: "mail", State: client.ActivityQueued, NotBegun: &why}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, n := range map[string]int{
		"Send of mail, 3 waiting: " + why.Text: 1, "not begun: " + why.Text: 1, "NO NODE": 1, next.Text: 0, "Sleep of": 0, "holiday": 1,
	} {
		if got := strings.Count(out.String(), text); got != n {
			t.Errorf("%q is there %d times, want %d:\n%s", text, got, n, out.String())
		}
	}
}

// An order about a queue that no node serves is given, and says so: the name may be mistyped.
func TestOrdersToAnUnknownQueueSaySo(t *testing.T) {
	path := fixture(t)
	for act, done := range map[string]string{"pause": "queue paymnets is paused\n", "resume": "queue paymnets goes on\n"} {
		code, stdout, stderr := perdure(t, "", "queue", act, "paymnets", "--db", path)
		if want := done + "no node serves a queue paymnets now: 'perdure queue list' shows the names\n"; code != exitOK || stdout != want {
			t.Errorf("%s: exit code %d: %s%s", act, code, stdout, stderr)
		}
		_, stdout, _ = perdure(t, "", "queue", act, "paymnets", "--db", path, "-o", "json")
		var out ordered
		if err := json.Unmarshal([]byte(stdout), &out); err != nil || !out.NoNode {
			t.Errorf("%s: %v: %s", act, err, stdout)
		}
	}
}
