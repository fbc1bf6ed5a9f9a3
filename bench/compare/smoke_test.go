package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
)

// tiny runs the command with these arguments and returns its report.
func tiny(t *testing.T, args ...string) (r report, printed string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.json")
	args = append([]string{"-rounds", "1", "-scale", "0.01", "-limit", "1m", "-dir", t.TempDir(), "-json", file}, args...)
	var out, progress bytes.Buffer
	if err := compare(t.Context(), args, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r, out.String()
}

// checkRuns checks that each system ran each workload.
func checkRuns(t *testing.T, r report, systems, workloads int) {
	t.Helper()
	if len(r.Runs) != systems*workloads {
		t.Errorf("%d runs, want %d", len(r.Runs), systems*workloads)
	}
	for _, run := range r.Runs {
		if run.Failed != "" || len(run.Figures) == 0 || run.CPUSeconds <= 0 {
			t.Errorf("%s on %s: figures %v in %v s of CPU, failed: %q", run.Workload, run.System, run.Figures, run.CPUSeconds, run.Failed)
		}
	}
	for _, row := range r.Summary {
		for name, c := range row.Systems {
			if compared := row.Systems["perdure"].Runs > 0 && name != "perdure"; compared && c.Faster <= 0 && c.Median > 0 {
				t.Errorf("%s %s: no ratio for %s: %+v", row.Workload, row.Figure, name, c)
			}
		}
	}
}

func TestSmokeSQLite(t *testing.T) {
	r, printed := tiny(t)
	checkRuns(t, r, len(products()), len(workloads()))
	for _, run := range r.Runs {
		// 2 is FULL. Perdure's own tests check it for perdure.
		if run.System != "perdure" && !slices.Contains(run.Settings, "synchronous=2") {
			t.Errorf("%s ran with %v", run.System, run.Settings)
		}
	}
	for _, want := range []string{"NOT a measurement", "| W1 ", "| W6 ", "its default is weaker", "durabletask-go v0.6.0"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the report does not say %q:\n%s", want, printed)
		}
	}
}

func TestSmokePostgres(t *testing.T) {
	server := postgrestest.New(t, "fsync=on")
	postgres := []string{"-stores", "postgres", "-postgres", server.URL()}
	r, _ := tiny(t, append(postgres, "-systems", "perdure,go-workflows,dbos", "-workloads", "W1,W2a,W6")...)
	checkRuns(t, r, 3, 3)
	// Release v0.6.0 cannot store two activities of one turn on Postgres (its issue 94).
	r, _ = tiny(t, append(postgres, "-systems", "durabletask-go", "-workloads", "W1,W6")...)
	checkRuns(t, r, 1, 2)
	postgrestest.Exec(t, server.URL(),
		"DO $$ BEGIN IF EXISTS (SELECT FROM pg_database WHERE datname LIKE 'compare_%') THEN RAISE 'databases are left'; END IF; END $$")
}

func TestWeakServerIsRefused(t *testing.T) {
	server := postgrestest.New(t, "fsync=off")
	args := []string{"-systems", "perdure", "-workloads", "W1", "-rounds", "1", "-scale", "0.001", "-stores", "postgres", "-postgres", server.URL()}
	err := compare(t.Context(), args, new(bytes.Buffer), new(bytes.Buffer))
	if !errors.Is(err, errWeak) {
		t.Errorf("a server without fsync: %v, want %v", err, errWeak)
	}
}

// A system that hangs is killed at the limit and not tried in later rounds.
func TestLimit(t *testing.T) {
	p, _, err := parse([]string{"-systems", "perdure", "-workloads", "W1", "-rounds", "2", "-limit", "1ms", "-dir", t.TempDir()}, new(bytes.Buffer))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := p.run(t.Context(), new(bytes.Buffer))
	if err != nil || len(runs) != 2 {
		t.Fatalf("runs: %+v, %v", runs, err)
	}
	for _, r := range runs {
		if !strings.HasPrefix(r.Failed, "not done after 1ms") {
			t.Errorf("a run without time: %+v", r)
		}
	}
	if runs[1].Seconds != 0 {
		t.Errorf("it was tried again: %+v", runs[1])
	}
}

func TestChildSaysWhyItFailed(t *testing.T) {
	_, _, err := job{System: "nobody", Workload: "W1"}.inChild(t.Context(), time.Minute)
	if err == nil || !strings.Contains(err.Error(), `no system "nobody"`) {
		t.Errorf("an unknown system: %v", err)
	}
	if _, err := (job{System: "perdure", Workload: "W1", Store: store{Kind: kindSQLite, Address: "/nowhere/at/all"}}).do(context.Background()); err == nil {
		t.Error("a store that cannot be made was opened")
	}
	if got := reason("log\npanic: it broke\n\ngoroutine 1\n\tmain.go:1"); got != "panic: it broke" {
		t.Errorf("a panic shows as %q", got)
	}
}
