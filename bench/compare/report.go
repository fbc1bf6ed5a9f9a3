package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// report is the complete result of a comparison. The JSON file holds all of it.
type report struct {
	Started  time.Time         `json:"started"`
	Machine  string            `json:"machine"`
	Go       string            `json:"go"`
	Modules  map[string]string `json:"modules"`
	Rounds   int               `json:"rounds"`
	Scale    float64           `json:"scale"`
	DiskWait string            `json:"disk_wait"`
	Postgres []string          `json:"postgres,omitempty"`
	Summary  []row             `json:"summary"`
	Runs     []run             `json:"runs"`
}

func newReport(p plan, wait time.Duration, server []string) report {
	return report{
		Started: time.Now().UTC(), Machine: fmt.Sprintf("%s/%s, %d CPUs", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Go: runtime.Version(), Modules: moduleVersions(p.systems), Rounds: p.rounds, Scale: p.scale,
		DiskWait: wait.String(), Postgres: server,
	}
}

// moduleVersions returns the versions of the systems and of their shared drivers.
func moduleVersions(systems []product) map[string]string {
	versions := make(map[string]string)
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return versions
	}
	wanted := []string{"modernc.org/sqlite", "github.com/jackc/pgx/v5"}
	for _, s := range systems {
		wanted = append(wanted, s.module)
	}
	for _, m := range info.Deps {
		switch {
		case !slices.Contains(wanted, m.Path):
		case m.Replace != nil:
			versions[m.Path] = "of this tree" + revision(info)
		default:
			versions[m.Path] = m.Version
		}
	}
	return versions
}

// revision returns the commit that the binary was built from, if the build recorded it.
func revision(info *debug.BuildInfo) (text string) {
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			text += " at " + s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			text += ", changed since"
		}
	}
	return text
}

// write prints the tables and the information needed to judge them.
func (r report) write(out io.Writer, p plan) error {
	w := &lines{out: out}
	w.f("Comparison of %s, %s, %s, %d rounds", r.Started.Format(time.DateTime+" MST"), r.Machine, r.Go, r.Rounds)
	if r.Scale != 1 {
		w.f("\nScale %v: a check that everything runs, NOT a measurement.", r.Scale)
	}
	w.f("\nMedian (range) of the rounds; **x** is by how much perdure is faster, by the medians.")
	for _, kind := range p.kinds {
		w.f("\n## %s\n", map[string]string{kindSQLite: "SQLite", kindPostgres: "Postgres"}[kind])
		w.table(r.rows(kind, p.systems))
		if failed := r.failures(kind); failed != nil {
			w.f("\nFailed:\n\n%s", strings.Join(failed, "\n"))
		}
		w.f("\nSettings that differ from the defaults:\n")
		for _, s := range p.systems {
			w.f("- %s: %s", s.name, s.notes[kind])
		}
		w.f("\nSettings as read back in the last runs:\n")
		for _, s := range p.systems {
			w.f("- %s: %s", s.name, strings.Join(r.settings(kind, s.name), ", "))
		}
	}
	w.f("\n## Workloads\n")
	for _, wl := range p.workloads {
		var of []string
		for _, s := range p.systems {
			of = append(of, fmt.Sprintf("%s %d", s.name, load{sizes(wl.name)[s.name], r.Scale}.size()))
		}
		w.f("- %s: %s. Size: %s", wl.name, wl.about, strings.Join(of, ", "))
	}
	w.f("\n## Versions and machine\n")
	for _, m := range slices.Sorted(maps.Keys(r.Modules)) {
		w.f("- %s %s", m, r.Modules[m])
	}
	w.f("- waiting for the disk takes %s in the folder of the SQLite files", r.DiskWait)
	if r.Postgres != nil {
		w.f("- Postgres: %s", strings.Join(r.Postgres, ", "))
	}
	return w.err
}

// rows returns the lines of a table, starting with its head.
func (r report) rows(kind string, systems []product) [][]string {
	head := []string{"", ""}
	for _, s := range systems {
		head = append(head, s.name)
	}
	all := [][]string{head}
	for _, row := range r.Summary {
		if row.Store != kind {
			continue
		}
		line := []string{row.Workload, row.Figure}
		for _, s := range systems {
			line = append(line, row.Systems[s.name].String())
		}
		all = append(all, line)
	}
	return all
}

// failures are the reasons in full, each once.
func (r report) failures(kind string) (reasons []string) {
	for _, run := range r.Runs {
		line := fmt.Sprintf("- %s %s: %s", run.Workload, run.System, run.Failed)
		if run.Store == kind && run.Failed != "" && !slices.Contains(reasons, line) {
			reasons = append(reasons, line)
		}
	}
	return reasons
}

// settings returns the settings of the last run of a system that has them.
func (r report) settings(kind, system string) []string {
	for _, run := range slices.Backward(r.Runs) {
		if run.Store == kind && run.System == system && run.Settings != nil {
			return run.Settings
		}
	}
	return nil
}

// save writes the report as JSON.
func (r report) save(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

// lines writes until an error occurs.
type lines struct {
	out io.Writer
	err error
}

func (l *lines) f(format string, args ...any) {
	if l.err == nil {
		_, l.err = fmt.Fprintf(l.out, format+"\n", args...)
	}
}

// table writes a Markdown table with aligned columns.
func (l *lines) table(rows [][]string) {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, text := range row {
			width[i] = max(width[i], len([]rune(text)), 3)
		}
	}
	for n, row := range rows {
		line, rule := "|", "|"
		for i, text := range row {
			line += fmt.Sprintf(" %-*s |", width[i], text)
			rule += " " + strings.Repeat("-", width[i]) + " |"
		}
		l.f("%s", line)
		if n == 0 {
			l.f("%s", rule)
		}
	}
}
