package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/activity"
	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// Charge fails once.
func Charge(ctx context.Context, order string) (string, error) {
	if activity.GetInfo(ctx).Attempt == 1 {
		return "", errors.New("the bank is down")
	}
	return "charged " + order, nil
}

// Pay charges, and tries again after a day.
func Pay(ctx *orchestration.Context, order string) (string, error) {
	return orchestration.CallActivity(ctx, Charge, order, orchestration.WithQueue("payments"),
		orchestration.WithRetry(orchestration.RetryPolicy{InitialInterval: 24 * time.Hour, Jitter: orchestration.Off}))
}

// operated is a database with a node and payments that wait for their second attempt.
type operated struct {
	t  *testing.T
	db string
	rt *runtime.Runtime
	c  *client.Client
}

func startOperated(t *testing.T, name string) *operated {
	t.Helper()
	db, err := databaseOf(name)
	if err != nil {
		t.Fatal(err)
	}
	quiet, err := newLogger(io.Discard, "error")
	if err != nil {
		t.Fatal(err)
	}
	store, err := db.create(t.Context(), quiet)
	if err != nil {
		t.Fatal(err)
	}
	reg := runtime.NewRegistry()
	if err := errors.Join(runtime.AddOrchestration(reg, Pay), runtime.AddActivity(reg, Charge, runtime.OnQueue("payments"))); err != nil {
		t.Fatal(err)
	}
	rt, err := runtime.Start(t.Context(), store, reg, runtime.Options{Logger: quiet, Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(rt.Shutdown(context.WithoutCancel(t.Context())), store.Close()); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(store, client.Options{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	o := &operated{t: t, db: name, rt: rt, c: c}
	for i := range 5 {
		id := fmt.Sprintf("pay-%d", i+1)
		if _, err := client.Start(t.Context(), c, Pay, id, client.WithID(id)); err != nil {
			t.Fatal(err)
		}
		o.until(id, func(d *client.Description) bool { return len(d.Activities) == 1 && d.Activities[0].Attempt == 2 })
	}
	return o
}

// until waits until an instance is as wanted.
func (o *operated) until(id string, wanted func(d *client.Description) bool) {
	o.t.Helper()
	for {
		d, err := o.c.Describe(o.t.Context(), id)
		if err != nil {
			o.t.Fatal(err)
		}
		if wanted(&d) {
			return
		}
	}
}

func ended(d *client.Description) bool { return d.Status.Ended() }

// The width of columns and the duration of an attempt differ from run to run, besides what steady replaces.
var (
	spaces = regexp.MustCompile(`  +`)
	took   = regexp.MustCompile(`for \d+\S*, on`)
)

// check runs a command and compares what it prints, apart from the width of columns.
func (o *operated) check(name, line string) {
	o.t.Helper()
	code, stdout, stderr := perdure(o.t, "", append(fields(line), "--db", o.db)...)
	if code != exitOK {
		o.t.Fatalf("%s: exit code %d: %s", line, code, stderr)
	}
	stdout = took.ReplaceAllString(stdout, "for 0s, on")
	stdout = strings.NewReplacer(o.rt.Owner(), "web-1", shellUser().Name, "ann@desk").Replace(stdout)
	checkGolden(o.t, name, spaces.ReplaceAllStringFunc(steady(stdout), func(s string) string {
		if strings.Contains(line, "json") {
			return s
		}
		return "  "
	}))
}

// refuse runs a command that must fail.
func (o *operated) refuse(want exitCode, line string, says ...string) {
	o.t.Helper()
	code, stdout, stderr := perdure(o.t, "", append(fields(line), "--db", o.db)...)
	if code != want || stdout != "" {
		o.t.Errorf("%s: exit code %d, want %d: %s%s", line, code, want, stdout, stderr)
	}
	for _, text := range says {
		if !strings.Contains(stderr, text) {
			o.t.Errorf("%s: no %q in %s", line, text, stderr)
		}
	}
}

// checkOperation runs the commands that steer instances, activities, queues and nodes.
func checkOperation(t *testing.T, db string) {
	t.Helper()
	o := startOperated(t, db)
	o.refuse(exitUsage, "activity retry pay-1 two", `"two" is not the number`)
	o.refuse(exitUsage, "activity retry pay-1 2 --attempt 0", "--attempt is 0")
	o.refuse(exitUsage, "activity complete pay-1 2 {oops", "not valid JSON")
	o.refuse(exitUsage, "activity fail pay-1 2", "argument TEXT is missing")
	o.refuse(exitConflict, "activity retry pay-1 2 --attempt 1", "attempt 2 is pending", "look at it again")
	o.refuse(exitNotFound, "activity retry pay-1 9", "is not pending", "perdure describe pay-1")
	o.refuse(exitNotFound, "activity retry nobody 2", "nobody")
	o.check("activity-pause", "activity pause pay-2 2 --reason look")
	o.check("activity-paused", "describe pay-2")
	o.check("activity-resume", "activity resume pay-2 2")
	o.check("activity-retry", "activity retry pay-1 2 --attempt 2")
	o.check("activity-complete-json", `activity complete pay-3 2 "by-hand" -o json`)
	o.check("activity-fail", "activity fail pay-4 2 stolen")
	for _, id := range []string{"pay-1", "pay-2", "pay-3", "pay-4"} {
		o.until(id, ended)
	}
	o.check("activity-failed", "describe pay-4")
	o.refuse(exitNotFound, "activity retry pay-1 2", "is not pending")
	o.refuse(exitConflict, "suspend pay-1", "ended")
	o.refuse(exitNotFound, "suspend nobody", "nobody")
	o.check("suspend", "suspend pay-5 --reason look")
	o.check("resume-json", "resume pay-5 -o json --request-id r-1")
	o.refuse(exitConflict, "restart pay-5", "Running", "end it first")
	o.check("restart", "restart pay-5 --id pay-6 --request-id r-2")
	o.check("restart-json", "restart pay-4 -o json --reason again --request-id r-3")
	o.check("queue-pause", "queue pause payments --reason bank")
	o.check("queue-list", "queue list")
	o.check("queue-list-jsonl", "queue list -o jsonl")
	o.check("queue-resume", "queue resume payments --wait 0s")
	o.check("node-list", "node list")
	if got := completed(t, "queue", "pause", "--db", db, "pay"); len(got) != 1 || got[0] != "payments" {
		t.Errorf("queues are completed to %q", got)
	}
	if got := completed(t, "node", "drain", "--db", db, "web"); len(got) != 1 || got[0] != o.rt.Owner() {
		t.Errorf("nodes are completed to %q", got)
	}
	checkActivityCompletion(t, db)
	o.refuse(exitUsage, "queue pause perdure", "perdure's own")
	o.refuse(exitUsage, "queue pause payments --wait -1s", "--wait is -1s")
	o.refuse(exitNotFound, "node drain nobody", "nobody", "list of nodes")
	o.check("node-drain-json", "node drain "+o.rt.Owner()+" --wait 0s -o json")
	o.check("node-undrain", "node undrain "+o.rt.Owner()+" --wait 0s")
	o.check("audit-list", "audit list")
	o.check("audit-list-jsonl", "audit list --instance pay-2 --act activity --limit 1 -o jsonl")
	o.refuse(exitUsage, "audit list --act fly", `no act "fly"`)
	o.refuse(exitUsage, "audit list --limit 0", "--limit is 0")
	o.refuse(exitUsage, "audit list --act=", "--act is empty")
}

// checkActivityCompletion checks that the event of a pending activity is offered with what it is.
func checkActivityCompletion(t *testing.T, db string) {
	t.Helper()
	if got := completed(t, "activity", "retry", "--db", db, "pay-5", ""); !slices.Equal(got, []string{"2"}) {
		t.Errorf("activities are completed to %q", got)
	}
	if got := completed(t, "activity", "retry", "--db", db, "pay-1", ""); len(got) > 0 {
		t.Errorf("activities of an instance that has ended are completed to %q", got)
	}
	if got := completed(t, "activity", "complete", "--db", db, "pay-5", "2", ""); len(got) > 0 {
		t.Errorf("outputs are completed to %q", got)
	}
	var out, errs bytes.Buffer
	code := (&app{patience: time.Minute}).run(t.Context(), []string{"__complete", "activity", "retry", "--db", db, "pay-5", ""}, strings.NewReader(""), &out, &errs)
	if code != exitOK || !strings.Contains(out.String(), "2\tCharge, attempt 2, Queued\n") {
		t.Errorf("exit code %d: %s%s", code, &out, &errs)
	}
}

func TestOperation(t *testing.T) {
	t.Parallel()
	checkOperation(t, t.TempDir()+"/pay.db")
}

func TestOperationOnServer(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	url := postgrestest.URL(t)
	checkOperation(t, url+"&schema="+postgrestest.Schema(t, url))
}

// fields splits a command line. An underscore is a space inside of an argument.
func fields(line string) []string {
	args := strings.Fields(line)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "_", " ")
	}
	return args
}
