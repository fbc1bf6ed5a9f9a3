package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider/memory"
)

// sampleIncident has something of each part.
func sampleIncident() *operate.Incident {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	exact := func(n int64) *client.Counted { return &client.Counted{Count: n, Exact: true} }
	return &operate.Incident{
		AsOf:  now,
		Store: operate.IncidentStore{Reachable: true, Latency: 1234 * time.Microsecond},
		Nodes: &operate.IncidentNodes{Running: 2, Lost: []string{"shop-2"}},
		Acts: []operate.IncidentAct{
			{
				Verb: operate.IncidentPause, Queue: "-bank", Instances: 310, Command: "perdure queue pause --reason incident -- -bank",
				Why: "310 instances of Checkout failed by activity charge within the last hour",
			},
			{Verb: operate.IncidentSuspend, Command: "perdure bulk start suspend --name Refund --blocked --status Running", Why: "2 instances of Refund are blocked (nondeterminism): suspend them, so that nothing is tried until they are resumed"},
		},
		Trend: &operate.IncidentTrend{
			Failed:  operate.IncidentRate{Last: exact(310), Before: exact(12), Growth: operate.IncidentGrowing},
			Retried: operate.IncidentRate{Last: &client.Counted{Count: 500}, Growth: operate.IncidentGrowthUnknown},
			Started: operate.IncidentRate{Last: exact(1000), Before: exact(1010), Growth: operate.IncidentSteady},
		},
		Changed: &operate.IncidentChanges{Items: []client.FiguresMark{{At: ago(7 * time.Minute), Kind: "version", Text: "code version 7 of Refund came"}}, More: 9},
		Failing: &operate.IncidentFailures{Items: []operate.IncidentGroup{{
			FailureGroup: client.FailureGroup{
				Group: "1-c307", Orchestration: "Checkout", Versions: []string{""}, Count: 322, First: ago(90 * time.Minute), Last: ago(4 * time.Second),
				Excerpt: &client.Excerpt{Activity: "charge", Text: "POST https://bank.example/charge: 503 Service Unavailable: " + strings.Repeat("try again later ", 20)},
			},
			Recent: operate.IncidentRate{Last: exact(310), Before: exact(12), Growth: operate.IncidentGrowing},
		}}},
		Retrying: &operate.IncidentRetries{Instances: client.Counted{Count: 500, Exact: true}, Items: []operate.IncidentRetry{{
			Activity: "ship", Queue: "carriers", Count: 500, Attempt: 7, Since: ago(time.Hour), Next: now.Add(20 * time.Second), Failure: &client.Failure{Message: "no route\nto host"},
		}}},
		Blocked: &operate.IncidentBlocks{Instances: client.Counted{Count: 2, Exact: true}, Items: []operate.IncidentBlock{{
			Reason: "nondeterminism", Orchestration: "Refund", CodeVersion: "7", Count: 2, Since: ago(6 * time.Minute), ID: "refund-17",
			Blocked: &client.Blocked{Message: "code does not match history at event 2: history holds ActivityScheduled of \"Reserve\"\nstack"},
		}}},
		NoNode: &operate.IncidentNoNode{Items: []operate.VersionUse{{Orchestration: "Order", Version: "3", Running: 1000, More: true, Oldest: ago(50 * time.Hour)}}},
		Queues: &operate.IncidentQueues{Items: []operate.QueueInfo{{
			Queue: "mail", Waiting: 4, Oldest: ago(3 * time.Minute), Paused: &operate.Order{By: "ann", Reason: "the bank is down", At: ago(4 * time.Minute)},
		}}},
		Unknown: []operate.IncidentUnknown{{Part: "people", Why: operate.IncidentTimeout}},
	}
}

// An incident fits a terminal of 80 columns, but for commands, which stand in one line with the database, to be copied.
func TestIncidentFitsATerminal(t *testing.T) {
	var out strings.Builder
	if err := writeIncident(&out, sampleIncident(), "my orders.db"); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "incident", out.String())
	for line := range strings.Lines(out.String()) {
		if columnsOf(strings.TrimRight(line, "\n")) > incidentWidth && !strings.HasPrefix(line, "    perdure ") {
			t.Errorf("a line has more than %d columns: %s", incidentWidth, line)
		}
	}
	out.Reset()
	// A command without the database would act on that of the environment.
	if err := writeIncident(&out, sampleIncident(), "postgres://me:secret@host/db"); err != nil || strings.Contains(out.String(), "secret") ||
		!strings.Contains(out.String(), "perdure --db postgres://me:xxxxx@host/db queue pause") {
		t.Errorf("a password is shown, or no database, %v: %s", err, out.String())
	}
}

// A hostile name cannot end the quotes of a command that is shown to be copied, whatever a terminal is kept from.
func TestHostileNamesStayWordsOfACommand(t *testing.T) {
	store := memory.New(memory.Options{})
	t.Cleanup(func() { _ = store.Close() })
	name := "a'; touch pwned #\a -- b"
	c := clienttest.New(t, store, client.Options{Logger: slog.New(slog.DiscardHandler)})
	if _, err := client.StartNamed[string](t.Context(), c, name, 1, client.WithVersion("lost")); err != nil {
		t.Fatal(err)
	}
	in, err := operate.New(c).Incident(t.Context())
	if err != nil || len(in.Acts) == 0 {
		t.Fatalf("%+v, %v: want an act", in, err)
	}
	var out strings.Builder
	if err := writeIncident(&out, in, "my orders.db"); err != nil {
		t.Fatal(err)
	}
	if want := "    perdure --db 'my orders.db' versions $'a\\'; touch pwned #\\007 -- b'\n"; !strings.Contains(out.String(), want) {
		t.Errorf("no line is %s in %s", want, out.String())
	}
}

// What is not known is called so, in each part, and never shown as nothing.
func TestHazard165_TheTextSaysUnknown(t *testing.T) {
	in := &operate.Incident{AsOf: time.Now(), Store: operate.IncidentStore{Reachable: true, Latency: 1}}
	for _, part := range []string{"trend", "changed", "nodes", "queues", "retrying", "blocked", "people", "noNode", "failing"} {
		in.Unknown = append(in.Unknown, operate.IncidentUnknown{Part: part, Why: operate.IncidentUnsupported})
	}
	var out strings.Builder
	if err := writeIncident(&out, in, ""); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if n := strings.Count(text, "unknown"); n != 12 || strings.Contains(text, "nothing\n") {
		t.Errorf("%d times unknown, want 12: %s", n, text)
	}
}

// The command prints the same as JSON. A database that cannot be read has the exit code of one.
func TestIncidentCommand(t *testing.T) {
	db := fixture(t)
	code, out, errs := perdure(t, "", "incident", "-o", "json", "--db", db)
	var in operate.Incident
	if err := json.Unmarshal([]byte(out), &in); code != exitOK || err != nil || len(in.Unknown) > 0 || len(in.Failing.Items) != 1 || in.Blocked.Instances.Count != 1 {
		t.Fatalf("exit code %d, %v: %s%s", code, err, out, errs)
	}
	code, out, _ = perdure(t, "", "incident", "--db", db)
	if code != exitOK || !strings.Contains(out, "broken on purpose") || !strings.Contains(out, " failures "+in.Failing.Items[0].Group+"\n") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, out, _ = perdure(t, "", "incident", "--db", "missing.db"); code != exitStore || out != "" {
		t.Errorf("a missing database: exit code %d, %q", code, out)
	}
}

// A server that takes connections and answers nothing holds nobody up for longer than the opening of an incident may last.
func TestIncidentOfASilentServer(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	code, out, errs := perdure(t, "", "incident", "--db", fmt.Sprintf("postgres://app:secret@%s/app?sslmode=disable", silent.Addr()))
	if code != exitStore || out != "" || !strings.Contains(errs, "looking at an incident: the database does not answer within 5s: open postgres://app@127.0.0.1:") {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}
