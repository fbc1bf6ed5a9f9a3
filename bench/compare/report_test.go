package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// did returns a run with one figure.
func did(system, figureName string, isRate bool, value float64) run {
	return run{Store: kindSQLite, Workload: "W1", System: system, Figures: []figure{{figureName, value, isRate}}}
}

func TestRatios(t *testing.T) {
	for _, c := range []struct {
		isRate       bool
		ours, theirs float64
		want         float64
	}{
		{true, 300, 30, 10},
		{true, 30, 300, 0.1},
		{false, 2, 20, 10},
		{false, 20, 2, 0.1},
	} {
		rows := summarize([]run{did("perdure", "f", c.isRate, c.ours), did("dbos", "f", c.isRate, c.theirs)})
		if len(rows) != 1 || rows[0].Systems["dbos"].Faster != c.want || rows[0].Systems["perdure"].Faster != 0 {
			t.Errorf("%+v: %+v", c, rows)
		}
	}
}

func TestCells(t *testing.T) {
	broken := run{Store: kindSQLite, Workload: "W1", System: "dbos", Failed: "because " + strings.Repeat("x", 100)}
	rows := summarize([]run{
		did("perdure", "s", false, 1), did("dbos", "s", false, 4), did("go-workflows", "s", false, 150),
		did("perdure", "s", false, 3), broken, did("go-workflows", "s", false, 250),
		did("perdure", "s", false, 2), did("dbos", "s", false, 2), did("go-workflows", "s", false, 200),
	})
	for system, want := range map[string]string{
		"perdure":      "2 (1 to 3)",
		"go-workflows": "200 (150 to 250) **x100**",
		"dbos":         "3 (2 to 4) **x1.5**, 1 of 3 runs failed: because " + strings.Repeat("x", 52) + "...",
	} {
		if got := rows[0].Systems[system].String(); got != want {
			t.Errorf("%s: %q, want %q", system, got, want)
		}
	}
	if got := summarize([]run{broken})[0].Systems["dbos"].String(); !strings.HasPrefix(got, "failed: because") {
		t.Errorf("all failed: %q", got)
	}
	if got := (cell{}).String(); got != "-" {
		t.Errorf("not run: %q", got)
	}
}

// A workload that failed on some systems has the figures of the others.
func TestFiguresOfFailedWorkload(t *testing.T) {
	rows := summarize([]run{{Store: kindSQLite, Workload: "W1", System: "perdure", Failed: "why"}, did("dbos", "s", false, 1)})
	if len(rows) != 1 || rows[0].Figure != "s" || rows[0].Systems["dbos"].Faster != 0 {
		t.Errorf("%+v", rows)
	}
}

func TestReportNamesFailures(t *testing.T) {
	r := report{Scale: 1, Runs: []run{{Store: kindSQLite, Workload: "W1", System: "dbos", Failed: "a long reason"}}}
	r.Summary = summarize(r.Runs)
	var out bytes.Buffer
	if err := r.write(&out, plan{systems: products(), workloads: workloads(), kinds: []string{kindSQLite}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "- W1 dbos: a long reason") || strings.Contains(out.String(), "NOT a measurement") {
		t.Error(out.String())
	}
}

func TestQuantile(t *testing.T) {
	values := make([]float64, 200)
	for i := range values {
		values[i] = float64(200 - i)
	}
	if p50, p99 := quantile(values, 0.5), quantile(values, 0.99); p50 != 101 || p99 != 199 {
		t.Errorf("p50 %v, p99 %v", p50, p99)
	}
	if got := quantile([]float64{7}, 0.99); got != 7 {
		t.Errorf("of one: %v", got)
	}
}

func TestLateness(t *testing.T) {
	var l lateness
	l.add(time.Now().Add(-time.Second))
	l.add(time.Now().Add(time.Hour))
	if got := l.late(); len(got) != 2 || got[0] < 1_000 || got[1] != 0 {
		t.Errorf("late by %v", got)
	}
}

func TestParse(t *testing.T) {
	p, file, err := parse([]string{
		"-systems", "dbos,perdure", "-workloads", "W6,W1", "-stores", "postgres,sqlite", "-postgres", "postgres://x", "-json", "f",
	}, new(bytes.Buffer))
	if err != nil || file != "f" || p.rounds != 5 || p.scale != 1 {
		t.Fatalf("%+v, %q, %v", p, file, err)
	}
	got := joined(p.systems, productName) + " " + joined(p.workloads, workloadName) + " " + strings.Join(p.kinds, ",")
	if want := "perdure,dbos W1,W6 sqlite,postgres"; got != want {
		t.Errorf("chosen: %s, want %s", got, want)
	}
	for _, wrong := range [][]string{
		{"-systems", "temporal"},
		{"-workloads", "W7"},
		{"-stores", "mysql"},
		{"-stores", "postgres"},
		{"-rounds", "0"},
		{"-scale", "0"},
		{"-scale", "2"},
		{"-scale", "NaN"},
		{"extra"},
	} {
		if _, _, err := parse(wrong, new(bytes.Buffer)); err == nil {
			t.Errorf("%v was taken", wrong)
		}
	}
}

// Each system has a size for each workload.
func TestSizes(t *testing.T) {
	for _, w := range workloads() {
		for _, p := range products() {
			if sizes(w.name)[p.name] < 1 {
				t.Errorf("no size of %s for %s", w.name, p.name)
			}
		}
	}
}
