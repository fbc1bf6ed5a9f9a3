package invariant_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/history"
	"github.com/perdure/perdure/internal/invariant"
)

var keyOf = regexp.MustCompile(`@(\w+)`)

// gone is a key that no instance has.
const gone = `X'00112233445566778899AABBCCDDEEFF'`

func execs(statements ...string) func(broken) { return func(b broken) { b.exec(statements...) } }

func extends(bodies ...history.Body) func(broken) { return func(b broken) { b.extend(bodies...) } }

// breaks are ways to break a store, and the findings: "rule instance event", one a line. Findings that follow from
// each other are found together.
func breaks() map[string]struct {
	spoil func(broken)
	want  string
} {
	const emptyInbox = `UPDATE perdure_instance SET inbox_messages = 0, inbox_bytes = 0, ready_at = 0 WHERE id = `
	const copyTask = `INSERT INTO perdure_task (key, execution, event_id, kind, state, scheduled_at, not_before_at)
		SELECT %s, %d, %d, kind, 1, scheduled_at, not_before_at FROM perdure_task WHERE key = @waits`
	const copyMessage = `INSERT INTO perdure_inbox (key, visible_at, id, kind, timer, execution, event_id, payload)
		SELECT %s, visible_at, %d, kind, timer, %d, %d, payload FROM perdure_inbox WHERE key = @waits`
	const count = `UPDATE perdure_instance SET inbox_messages = inbox_messages + 1,
		ready_at = (SELECT min(visible_at) FROM perdure_inbox m WHERE m.key = perdure_instance.key) WHERE id = `
	erase := func(id string) (all []string) {
		for _, table := range []string{"inbox", "task", "history", "instance"} {
			all = append(all, "DELETE FROM perdure_"+table+" WHERE key = @"+id)
		}
		return all
	}
	return map[string]struct {
		spoil func(broken)
		want  string
	}{
		"nothing":           {func(broken) {}, ""},
		"no outcome":        {execs(`DELETE FROM perdure_outcome WHERE key = @done`), "missing-outcome done 0"},
		"corrupt outcome":   {execs(`UPDATE perdure_outcome SET result = X'01FF', sum = NULL WHERE key = @done`), "missing-outcome done 0"},
		"another's outcome": {execs(`UPDATE perdure_outcome SET result = (SELECT result FROM perdure_outcome WHERE key = @failed), sum = NULL WHERE key = @done`), "missing-outcome done 0"},
		"runs after its end": {
			execs(`UPDATE perdure_instance SET status = 1, ended_at = 0 WHERE id = 'done'`), "missing-outcome done 4",
		},
		"ended without an end": {
			execs(`DELETE FROM perdure_history WHERE key = @failed`, `UPDATE perdure_instance SET history_length = 0, history_bytes = 0 WHERE id = 'failed'`),
			"missing-outcome failed 0",
		},

		"name lost": {
			execs(`INSERT INTO perdure_kind (name, code_version, engine_level) VALUES ('', '', 1)`,
				`UPDATE perdure_instance SET kind = (SELECT id FROM perdure_kind WHERE name = '') WHERE id = 'waits'`),
			"missing-name waits 0",
		},

		"ID of perdure's own": {execs(`UPDATE perdure_instance SET id = 'perdure/retention' WHERE id = 'failed'`), "reserved-id perdure/retention 0"},

		"task lost":  {execs(`DELETE FROM perdure_task WHERE key = @waits`), "stuck waits 2"},
		"timer lost": {execs(`DELETE FROM perdure_inbox WHERE key = @waits`, emptyInbox+`'waits'`), "stuck waits 3"},
		"child lost": {execs(`DELETE FROM perdure_history WHERE key = @child`, `DELETE FROM perdure_instance WHERE id = 'child'`), "stuck waits 4"},
		"start lost": {execs(`DELETE FROM perdure_inbox WHERE key = @new`, emptyInbox+`'new'`), "stuck new 0"},
		"opening lost": {
			execs(`DELETE FROM perdure_history WHERE key = @again AND execution = 2 AND first_id > 1`,
				`UPDATE perdure_instance SET history_length = 1, history_bytes = (SELECT length(data) FROM perdure_history h
				WHERE h.key = perdure_instance.key AND execution = 2) - 1 WHERE id = 'again'`),
			"stuck again 0",
		},

		"row of events lost":    {execs(`DELETE FROM perdure_history WHERE key = @waits AND first_id = 6`), "event-gap waits 6"},
		"last events lost":      {execs(`DELETE FROM perdure_history WHERE key = @waits AND first_id = 7`), "event-gap waits 7"},
		"events stored twice":   {execs(`UPDATE perdure_history SET first_id = 5 WHERE key = @waits AND first_id = 6`), "event-gap waits 5"},
		"wrong length":          {execs(`UPDATE perdure_instance SET history_length = 6 WHERE id = 'waits'`), "event-gap waits 7"},
		"wrong bytes":           {execs(`UPDATE perdure_instance SET history_bytes = 6 WHERE id = 'waits'`), "event-gap waits 0"},
		"execution lost":        {execs(`DELETE FROM perdure_execution WHERE key = @again`), "event-gap again 0"},
		"old execution too old": {execs(`UPDATE perdure_execution SET length = 3 WHERE key = @again`), "event-gap again 3"},

		"event overwritten": {
			execs(`UPDATE perdure_history SET data = CAST(substr(data, 1, 1) || zeroblob(length(data) - 1) AS BLOB) WHERE key = @waits AND first_id = 7`),
			"undecodable-event waits 7",
		},
		"event damaged": {
			execs(`UPDATE perdure_history SET data = CAST(substr(data, 1, length(data) - 1) || X'00' AS BLOB) WHERE key = @waits AND first_id = 7`),
			"undecodable-event waits 7",
		},
		"event cut off": {
			execs(`UPDATE perdure_history SET data = substr(data, 1, length(data) - 1) WHERE key = @waits AND first_id = 7`),
			"undecodable-event waits 7",
		},

		"second result":         {extends(&history.ActivityCompleted{Scheduled: 5}), "result-observed-twice waits 8"},
		"second failure":        {extends(&history.ActivityFailed{Scheduled: 5}), "result-observed-twice waits 8"},
		"result for a timer":    {extends(&history.ChildCompleted{Started: 3}), "result-observed-twice waits 8"},
		"result for the future": {extends(&history.TimerFired{Timer: 70}), "result-observed-twice waits 8"},
		"local activity answered twice": {
			extends(&history.LocalEnded{Call: 1}, &history.LocalQueued{Call: 1}), "result-observed-twice waits 9",
		},
		"request consumed twice": {extends(&history.EventReceived{Name: "go", RequestID: "r"}), "result-observed-twice waits 8"},
		"cancelled twice": {
			extends(&history.CancelRequested{RequestID: "c"}, &history.CancelRequested{RequestID: "c"}), "result-observed-twice waits 9",
		},
		"result after giving up": {
			func(b broken) {
				b.extend(&history.ChildCancelRequested{Started: 4}, &history.ChildFailed{Started: 4})
			},
			"result-observed-twice waits 9",
		},

		"task of an ended instance":    {execs(fmt.Sprintf(copyTask, "@done", 1, 2)), "leftover done 2"},
		"task of an ended execution":   {execs(fmt.Sprintf(copyTask, "@again", 1, 2)), "leftover again 2"},
		"task of nothing":              {execs(fmt.Sprintf(copyTask, "@waits", 1, 3)), "leftover waits 3"},
		"task with its result":         {execs(fmt.Sprintf(copyTask, "@waits", 1, 5)), "leftover waits 5"},
		"task given up":                {extends(&history.ActivityCancelRequested{Scheduled: 2}), "leftover waits 2"},
		"message of an ended instance": {execs(fmt.Sprintf(copyMessage, "@done", 9, 1, 2), count+`'done'`), "leftover done 2"},
		"timer of an ended execution":  {execs(fmt.Sprintf(copyMessage, "@again", 9, 1, 2), count+`'again'`), "leftover again 2"},
		"timer of nothing":             {execs(fmt.Sprintf(copyMessage, "@waits", 9, 1, 2), count+`'waits'`), "leftover waits 2"},
		"timer that was cancelled":     {extends(&history.TimerCancelled{Timer: 3}), "leftover waits 3"},
		"question": {
			execs(`INSERT INTO perdure_ask (ask_id, key, asked_at, until) VALUES (X'01', @waits, 1, 1)`), "leftover  0",
		},

		"instance lost": {
			execs(`DELETE FROM perdure_instance WHERE id = 'again'`), strings.Repeat("orphan  0\n", 2),
		},
		"rows of a key that is gone": {
			execs(fmt.Sprintf(copyTask, gone, 1, 1), fmt.Sprintf(copyMessage, gone, 9, 1, 1),
				`INSERT INTO perdure_value VALUES (`+gone+`, 'a', X'01')`, `INSERT INTO perdure_outcome (key) VALUES (`+gone+`)`,
				`INSERT INTO perdure_attribute VALUES (`+gone+`, 'a', 1, '', 1)`,
				`INSERT INTO perdure_dead_letter (task, key, instance_id, execution, event_id, kind, timer, queue, name, priority, reason, at)
				VALUES (0, `+gone+`, 'x', 1, 1, 1, 0, '', '', 0, '', 1)`),
			strings.Repeat("orphan  0\n", 6),
		},
		"parent lost": {execs(erase("waits")...), "orphan child 0"},

		"turn lease":  {execs(`UPDATE perdure_instance SET lease_owner = 'ghost', lease_until = 1 << 60 WHERE id = 'waits'`), "dead-lease waits 0"},
		"task lease":  {execs(`UPDATE perdure_task SET state = 2, owner = 'ghost', lease_until = 1 << 60`), "dead-lease waits 2"},
		"lease lapse": {execs(`UPDATE perdure_instance SET lease_owner = 'ghost', lease_until = 1 WHERE id = 'waits'`), ""},

		"never ready":          {execs(`UPDATE perdure_instance SET ready_at = 0 WHERE id = 'waits'`), "ready-time waits 0"},
		"ready too late":       {execs(`UPDATE perdure_instance SET ready_at = ready_at + 1 WHERE id = 'new'`), "ready-time new 0"},
		"ready too early":      {execs(`UPDATE perdure_instance SET ready_at = 1 WHERE id = 'waits'`), "ready-time waits 0"},
		"ready for nothing":    {execs(`UPDATE perdure_instance SET ready_at = 1 WHERE id = 'done'`), "ready-time done 0"},
		"messages not counted": {execs(`UPDATE perdure_instance SET inbox_messages = 0 WHERE id = 'new'`), "ready-time new 0"},

		"wrong parent": {
			execs(`UPDATE perdure_instance SET parent_event = 2 WHERE id = 'child'`), "parent-child waits 4\nparent-child child 0",
		},
		"parent without the event": {
			execs(`UPDATE perdure_instance SET parent_event = 99 WHERE id = 'child'`), "parent-child waits 4\nparent-child child 0",
		},
		"child ended in silence":  {func(b broken) { b.terminate("child") }, "parent-child waits 4"},
		"parent ended in silence": {func(b broken) { b.terminate("waits") }, "parent-child child 0"},

		"unreadable instance": {execs(`UPDATE perdure_instance SET version = X'0102' WHERE id = 'waits'`), "unreadable-row  0"},
		"damaged outcome":     {execs(`UPDATE perdure_outcome SET result = X'01FF' WHERE key = @done`), "unreadable-row  0"},
		"damaged task":        {execs(`UPDATE perdure_task SET payload = X'00' WHERE key = @waits`), "stuck waits 2\nunreadable-row waits 0"},
		"damaged message":     {execs(`UPDATE perdure_inbox SET payload = X'00' WHERE key = @new`), "ready-time new 0\nunreadable-row new 0"},
		"instance of no kind": {execs(`UPDATE perdure_instance SET kind = 999 WHERE id = 'waits'`), "unreadable-row  0"},
	}
}

// A store that is broken in one way is found to be broken in that way and in no other.
func TestBrokenStoresAreFound(t *testing.T) {
	data := file(t)
	rules := map[invariant.Rule]bool{}
	for name, c := range breaks() {
		t.Run(name, func(t *testing.T) {
			b := spoil(t, data)
			c.spoil(b)
			var got []string
			for _, f := range b.check(invariant.Options{Idle: true}).Findings {
				got = append(got, fmt.Sprintf("%s %s %d", f.Rule, f.InstanceID, f.EventID))
				rules[f.Rule] = true
				t.Log(f)
			}
			want := strings.Split(strings.TrimSpace(c.want), "\n")
			if c.want == "" {
				want = nil
			}
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("found %q, want %q", got, want)
			}
		})
	}
	for _, rule := range invariant.Rules() {
		if !rules[rule] && rule != invariant.UnexpectedOutcome { // see TestExpectedOutcomes
			t.Errorf("no store breaks %s", rule)
		}
	}
}
