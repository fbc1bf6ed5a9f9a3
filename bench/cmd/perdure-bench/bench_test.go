package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/dbname"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/testkit/leaktest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/testkit/workload"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/sqlite"
)

func TestMain(m *testing.M) {
	if _, ok := os.LookupEnv(workerVariable); ok {
		os.Exit(int(process()))
	}
	leaktest.Main(m, postgrestest.Stop)
}

// ran runs a command line in this process. Its workers are processes of the test binary.
func ran(t *testing.T, args ...string) (code exitCode, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// tiny makes all workloads but w9 short. A test's directory may be in memory.
var tiny = []string{"--n", "4", "--seconds", "0.1", "--finished", "20", "--allow-unsafe"}

// benched runs the command and returns its JSON output.
func benched(t *testing.T, args ...string) benchReport {
	t.Helper()
	code, stdout, stderr := ran(t, append([]string{"-o", "json"}, args...)...)
	return benchedJSON(t, code, stdout, stderr)
}

func benchedJSON(t *testing.T, code exitCode, stdout, stderr string) (report benchReport) {
	t.Helper()
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	decoder := json.NewDecoder(strings.NewReader(stdout))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&report); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	return report
}

// inProcess returns the workloads that need no other process.
func inProcess() (names []string) {
	for _, w := range workload.All() {
		if w.Workers == nil {
			names = append(names, w.Name)
		}
	}
	return names
}

func TestBenchOnFile(t *testing.T) {
	longtest.Skip(t)
	report := benched(t, append(inProcess(), tiny...)...)
	s := report.Settings
	if s.Perdure == "" || s.Go == "" || s.Cores < 1 || s.Store != "sqlite" || s.Version == "" || s.Settings["synchronous"] != "full" {
		t.Errorf("settings %+v", s)
	}
	checkRuns(t, report, inProcess())
}

// With a rate the timers of W5 are due one after the other, though all are started at once.
func TestBenchTimersAtARate(t *testing.T) {
	report := benched(t, append([]string{"w5", "--rate", "10"}, tiny...)...)
	checkRuns(t, report, []string{"w5"})
	if took := report.Runs[0].Seconds; took < 0.4 {
		t.Errorf("the run took %v seconds, and the last timer is due after 0.4", took)
	}
}

// checkRuns checks that there is one run of each workload, with plausible figures.
func checkRuns(t *testing.T, report benchReport, want []string) {
	t.Helper()
	var names []string
	for _, r := range report.Runs {
		names = append(names, r.Workload)
		if r.Title == "" || r.Unit == "" || r.Run != 1 || r.Seconds <= 0 || r.ClientCPU == nil || *r.ClientCPU < 0 || r.Peak == nil || *r.Peak < 1<<20 || r.Load == nil {
			t.Errorf("%s: %+v", r.Workload, r)
		}
		if r.Workload == "w7" {
			if r.Figures["percent of a core"] <= 0 || r.Figures["memory at the end MiB"] <= 0 || r.Prepared <= 0 {
				t.Errorf("w7: %+v", r)
			}
			continue
		}
		l := r.Latency
		if r.PerSecond <= 0 || l == nil || l.Of == "" || l.P50 > l.P95 || l.P95 > l.P99 || l.P99 > l.Max || l.Max <= 0 {
			t.Errorf("%s: %+v, %+v", r.Workload, r, l)
		}
		pair, ratio := r.Figures["bare pair of commits p50 ms"], r.Figures["p50 by that of the bare pair (at most 1.6)"]
		if compared := pair > 0 && math.Abs(ratio*pair-l.P50) < 1e-6; compared != (r.Workload == "w3") {
			t.Errorf("%s: compared with a pair of commits: %v", r.Workload, r.Figures)
		}
		if r.Commits <= 0 || r.CommitsPerStep <= 0 || r.CommitsPerStep > 3 || r.Written == nil {
			t.Errorf("%s: %d commits, %v for each step, %v bytes", r.Workload, r.Commits, r.CommitsPerStep, r.Written)
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("ran %v, want %v", names, want)
	}
}

// On Postgres bench drops its schemas. The server's figures are known, since it runs on this machine.
func TestBenchOnServer(t *testing.T) {
	longtest.Skip(t)
	url := postgrestest.URL(t)
	names := []string{"w1", "w3", "w5"}
	report := benched(t, append(names, append(tiny, "--db", url)...)...)
	checkRuns(t, report, names)
	s := report.Settings
	if s.Store != "postgres" || s.Version == "" || s.Settings["fsync"] == "" || s.Settings["synchronous_commit"] != "on" {
		t.Errorf("settings %+v", s)
	}
	for _, r := range report.Runs {
		if r.ServerCPU == nil || *r.Written <= 0 || r.DatabaseCommits == nil {
			t.Errorf("%s: server's CPU %v, %d bytes, commits %v", r.Workload, r.ServerCPU, *r.Written, r.DatabaseCommits)
		}
	}
	postgrestest.Exec(t, url, `DO $$ BEGIN
		ASSERT NOT EXISTS (SELECT FROM pg_namespace WHERE nspname SIMILAR TO 'perdure\_(bench|pair)\_%'), 'schemas are left';
	END $$`)
}

// Bench refuses a store that loses commits unless the flag allows it, and names both settings.
func TestBenchRefusesUnsafeStores(t *testing.T) {
	url := postgrestest.URL(t)
	careless := url + "&options=-c%20synchronous_commit%3Doff"
	for _, c := range []struct {
		name  string
		args  []string
		named []string
	}{
		{"normal", []string{"--synchronous", "normal"}, []string{"synchronous is normal"}},
		{"off", []string{"--synchronous", "off"}, []string{"synchronous is off"}},
		{"fsync", []string{"--db", url}, []string{"fsync is off", "synchronous_commit on"}},
		{"commit", []string{"--db", careless}, []string{"synchronous_commit is off", "synchronous_commit off", ", fsync o"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "fsync" && os.Getenv("PERDURE_TEST_POSTGRES_URL") != "" {
				t.Skip("that server may be one that waits for the disk; those that tests start do not")
			}
			args := append([]string{"w2a", "--n", "2"}, c.args...)
			code, stdout, stderr := ran(t, args...)
			if code != exitUsage || stdout != "" {
				t.Errorf("exit code %d, %q", code, stdout)
			}
			for _, text := range append(c.named, "--allow-unsafe") {
				if !strings.Contains(stderr, text) {
					t.Errorf("%q is not in %s", text, stderr)
				}
			}
			if report := benched(t, append(args, "--allow-unsafe")...); len(report.Runs) != 1 || len(report.Settings.Unsafe) == 0 {
				t.Errorf("with --allow-unsafe: %+v", report)
			}
		})
	}
}

// Bench refuses an existing file. A file that it creates is removed with the files next to it, unless it is kept.
func TestBenchStores(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "bench.db")
	small := []string{"--db", path, "--allow-unsafe"}
	benched(t, append(small, "w2a", "--n", "2", "--runs", "2")...)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v, %v", left, err)
	}
	benched(t, append(small, "w8", "--n", "2", "--finished", "30", "--keep")...)
	if report := benched(t, append(small, "w8", "--n", "2", "--finished", "20", "--keep")...); report.Runs[0].Workload != "w8" {
		t.Errorf("%+v", report)
	}
	// The copies that w8 makes are complete: 30, and twice two that ran.
	store, err := sqlite.OpenWith(path, sqlite.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	found, err := invariant.Check(t.Context(), provider.FullOf(store), invariant.Options{})
	if err := errors.Join(err, store.Close()); err != nil || len(found.Findings) > 0 || found.Instances != 34 {
		t.Errorf("%+v, %v", found, err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	code, _, stderr := ran(t, append([]string{"w2a"}, small...)...)
	after, err := os.ReadFile(path)
	if code != exitUsage || !strings.Contains(stderr, "--keep") || err != nil || string(before) != string(after) {
		t.Errorf("exit code %d, %v: %s", code, err, stderr)
	}
}

func TestBenchUsage(t *testing.T) {
	for _, c := range []struct{ line, says string }{
		{"", "no workload"},
		{"w1 --all", "not both"},
		{"w11", `no workload "w11"`},
		{"w1 --runs 0", "--runs is 0"},
		{"w1 --n -1", "must not be negative"},
		{"w9 --workers 0", "--workers must not be zero"},
		{"w3 --rate fast", "invalid argument \"fast\" for \"--rate\""},
		{"w3 --rates 1", "unknown flag: --rates: see 'perdure-bench --help'"},
		{"w1 --db=", "--db is empty"},
		{"w1 -o yaml", "table, json or jsonl"},
		{"w1 --log-level loud", "debug, info, warn or error"},
		{"w1 --keep", "--keep needs --db"},
		{"w1 --synchronous hard", "full, normal or off"},
		{"w1 --db http://host", "not a database name"},
		{"w1 --db postgres://127.0.0.1:1/x --synchronous off", "is for a SQLite file"},
		{"w1 --db postgres://127.0.0.1:1/x?schema=mine", "names a schema"},
	} {
		code, stdout, stderr := ran(t, strings.Fields(c.line)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit code %d, %q, %s; want %q", c.line, code, stdout, stderr, c.says)
		}
	}
}

// The program ignores the environment's database, which may be a real one.
func TestBenchIgnoresEnvironment(t *testing.T) {
	path := filepath.Join(t.TempDir(), "real.db")
	if err := os.WriteFile(path, []byte("real"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PERDURE_DB", path)
	figures := filepath.Join(t.TempDir(), "figures.json")
	code, stdout, stderr := ran(t, "w2a", "w3", "--n", "2", "--runs", "3", "--allow-unsafe", "--json", figures)
	if data, err := os.ReadFile(path); err != nil || string(data) != "real" {
		t.Errorf("%q, %v", data, err)
	}
	for _, text := range []string{"synchronous full", "w2a n=2", "median", "range", "intended moment to outcome", "COMMITS/STEP"} {
		if !strings.Contains(stdout, text) {
			t.Errorf("%q is not in the table:\n%s", text, stdout)
		}
	}
	data, err := os.ReadFile(figures)
	if err != nil {
		t.Fatal(err)
	}
	if report := benchedJSON(t, code, string(data), stderr); len(report.Runs) != 6 {
		t.Errorf("%d runs are in the file", len(report.Runs))
	}
}

// The workers of w9 report their usage and their commits.
func TestBenchBesideOtherProcesses(t *testing.T) {
	longtest.Skip(t)
	report := benched(t, "w9", "--n", "20", "--workers", "1,2", "--allow-unsafe")
	if len(report.Runs) != 2 {
		t.Fatalf("%d runs", len(report.Runs))
	}
	for i, r := range report.Runs {
		// A start is this process's commit; the rest are the workers'.
		if r.Workers != i+1 || r.WorkerCPU == nil || *r.WorkerCPU <= 0 || r.Steps != 120 || r.Commits < 10 || r.CommitsPerStep <= 0 || r.Written == nil {
			t.Errorf("%+v", r)
		}
	}
}

// A URL may have pool parameters, as the guide recommends.
func TestBenchOnServerWithPoolParameters(t *testing.T) {
	s, _, err := dbname.Parse(postgrestest.URL(t) + "&pool_max_conns=8")
	if err != nil {
		t.Fatal(err)
	}
	b, err := newBenchServer(t.Context(), s, benchOptions{synchronous: synchronousFull})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.close(t.Context()); err != nil {
		t.Error(err)
	}
}
