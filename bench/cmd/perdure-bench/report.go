package main

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/internal/testkit/workload"
)

// benchReport is the JSON output of bench.
type benchReport struct {
	Settings benchSettings `json:"settings"`
	Runs     []benchRun    `json:"runs"`
}

// benchSettings describe the machine, the versions and the store of a report.
type benchSettings struct {
	Perdure  string            `json:"perdure"`
	Revision string            `json:"revision,omitempty"`
	Go       string            `json:"go"`
	Platform string            `json:"platform"`
	Cores    int               `json:"cores"`
	Procs    int               `json:"gomaxprocs"`
	Store    string            `json:"store"`
	Version  string            `json:"storeVersion"`
	Settings map[string]string `json:"storeSettings"`
	Unsafe   []string          `json:"unsafe,omitempty"` // settings that may lose commits

	order []string
}

func newBenchSettings(s placeSettings) benchSettings {
	version, revision := built()
	return benchSettings{
		Perdure: version, Revision: revision, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Cores: runtime.NumCPU(), Procs: runtime.GOMAXPROCS(0),
		Store: s.store, Version: s.version, Settings: s.values, Unsafe: s.unsafe, order: s.names,
	}
}

// built returns the version and the revision that the Go command stamped into the binary.
func built() (version, revision string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)", ""
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if revision != "" {
		revision += dirty
	}
	return cmp.Or(info.Main.Version, "(devel)"), revision
}

// durability returns the store's settings as text.
func (s benchSettings) durability() string {
	parts := make([]string, 0, 1+len(s.order))
	parts = append(parts, s.Version)
	for _, name := range s.order {
		parts = append(parts, name+" "+s.Settings[name])
	}
	return strings.Join(parts, ", ")
}

func (s benchSettings) unsafe() string {
	parts := make([]string, 0, len(s.Unsafe))
	for _, name := range s.Unsafe {
		parts = append(parts, name+" is "+s.Settings[name])
	}
	return strings.Join(parts, ", ")
}

// benchLatency holds latencies of single operations in milliseconds.
type benchLatency struct {
	Of  string  `json:"of"`
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// benchRun holds the figures of one run. A missing figure could not be read or does not apply.
type benchRun struct {
	Workload  string        `json:"workload"`
	Title     string        `json:"title"`
	N         int           `json:"n"`
	Rate      float64       `json:"rate,omitempty"`
	Starters  int           `json:"starters,omitempty"`
	Workers   int           `json:"workers,omitempty"`
	Finished  int           `json:"finished,omitempty"`
	Run       int           `json:"run"`
	Load      *float64      `json:"loadBefore,omitempty"`
	Prepared  float64       `json:"prepareSeconds,omitempty"`
	Seconds   float64       `json:"seconds"`
	PerSecond float64       `json:"perSecond,omitempty"`
	Unit      string        `json:"unit"` // of perSecond
	Latency   *benchLatency `json:"latencyMs,omitempty"`
	Steps     int           `json:"steps,omitempty"`

	ClientCPU       *float64           `json:"clientCpuSeconds,omitempty"` // of this process
	WorkerCPU       *float64           `json:"workerCpuSeconds,omitempty"` // of the worker processes, including their start and end
	ServerCPU       *float64           `json:"serverCpuSeconds,omitempty"`
	Peak            *int64             `json:"peakRssBytes,omitempty"` // of all processes
	Written         *int64             `json:"bytesWritten,omitempty"`
	WrittenPerStep  *float64           `json:"bytesPerStep,omitempty"`
	Commits         int64              `json:"commits"`
	CommitsPerStep  float64            `json:"commitsPerStep,omitempty"`
	DatabaseCommits *int64             `json:"databaseCommits,omitempty"` // approximate: all transactions of the database, including reads
	Figures         map[string]float64 `json:"figures,omitempty"`
	Notes           []string           `json:"notes,omitempty"`

	order []string // of Figures
}

func newBenchRun(c benchCase, number int) benchRun {
	return benchRun{
		Workload: c.Name, Title: c.Title, Unit: c.Unit, N: c.size.N, Rate: c.size.Rate, Starters: c.size.Starters,
		Workers: c.size.Workers, Finished: c.size.Finished, Run: number,
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// fill computes the figures from the result and the readings before and after.
func (r *benchRun) fill(c benchCase, result workload.Result, before, after reading) {
	r.Seconds, r.Steps = result.Took.Seconds(), result.Steps
	if len(result.Latencies) > 0 {
		r.Latency = &benchLatency{
			c.Of, milliseconds(result.Percentile(50)), milliseconds(result.Percentile(95)), milliseconds(result.Percentile(99)), milliseconds(result.Percentile(100)),
		}
	}
	r.ClientCPU, r.Peak = less(after.self.CPU, before.self.CPU), after.self.Peak
	r.Commits, r.DatabaseCommits = after.self.Commits-before.self.Commits, less(after.place.transactions, before.place.transactions)
	if after.place.cpu != nil && before.place.cpu != nil {
		r.ServerCPU = new((*after.place.cpu - *before.place.cpu).Seconds())
	} else if after.place.written != nil {
		r.Notes = append(r.Notes, "the server's processes are not on this machine or not visible")
	}
	r.Written = cmp.Or(less(after.place.written, before.place.written), less(after.self.Written, before.self.Written))
	for _, f := range result.Figures {
		r.figure(strings.TrimSpace(f.Name+" "+f.Unit), f.Value)
	}
	if r.Steps > 0 {
		r.PerSecond = result.PerSecond()
		r.perStep()
		return
	}
	if r.ClientCPU != nil {
		r.figure("percent of a core", *r.ClientCPU/r.Seconds*100)
	}
	if after.self.Memory != nil {
		r.figure("memory at the end MiB", float64(*after.self.Memory)/(1<<20))
	}
}

// addWorkers adds the usage of the worker processes.
func (r *benchRun) addWorkers(workers []totals) {
	r.WorkerCPU = new(0.0)
	for _, w := range workers {
		r.WorkerCPU, r.Peak = plus(r.WorkerCPU, w.CPU), plus(r.Peak, w.Peak)
		if r.DatabaseCommits == nil { // otherwise the server writes, and its log was read
			r.Written = plus(r.Written, w.Written)
		}
		r.Commits += w.Commits
	}
	r.perStep()
}

func (r *benchRun) perStep() {
	r.CommitsPerStep = float64(r.Commits) / float64(r.Steps)
	if r.Written != nil {
		r.WrittenPerStep = new(float64(*r.Written) / float64(r.Steps))
	}
}

func (r *benchRun) figure(name string, value float64) {
	if r.Figures == nil {
		r.Figures = make(map[string]float64)
	}
	r.Figures[name] = value
	r.order = append(r.order, name)
}

type quantity interface{ ~int64 | ~float64 }

func less[T quantity](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	return new(*a - *b)
}

func plus[T quantity](a, b *T) *T {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}

// String returns the run as one line.
func (r *benchRun) String() string {
	return strings.Join(append([]string{r.name(), fmt.Sprint("run ", r.Run)}, r.cells()...), "  ")
}

// name returns the name and size of the case.
func (r *benchRun) name() string {
	name := fmt.Sprintf("%s n=%d", r.Workload, r.N)
	if r.Rate > 0 {
		name += fmt.Sprintf(" rate=%g", r.Rate)
	}
	if r.Starters > 0 {
		name += fmt.Sprintf(" starters=%d", r.Starters)
	}
	if r.Workers > 0 {
		name += fmt.Sprintf(" workers=%d", r.Workers)
	}
	return name
}

// benchColumns are the columns of the table that have one figure for each run.
//
//nolint:gochecknoglobals // constant table
var benchColumns = []struct {
	title, format string
	of            func(r benchRun) *float64
}{
	{"SECONDS", "%.3f", func(r benchRun) *float64 { return &r.Seconds }},
	{"PER S", "%.1f", func(r benchRun) *float64 { return some(r.PerSecond) }},
	{"P50 MS", "%.3f", latency(func(l benchLatency) float64 { return l.P50 })},
	{"P95 MS", "%.3f", latency(func(l benchLatency) float64 { return l.P95 })},
	{"P99 MS", "%.3f", latency(func(l benchLatency) float64 { return l.P99 })},
	{"CPU S", "%.2f", func(r benchRun) *float64 { return cmp.Or(plus(r.ClientCPU, r.WorkerCPU), r.ClientCPU) }},
	{"SERVER S", "%.2f", func(r benchRun) *float64 { return r.ServerCPU }},
	{"RSS MIB", "%.0f", func(r benchRun) *float64 {
		if r.Peak == nil {
			return nil
		}
		return new(float64(*r.Peak) / (1 << 20))
	}},
	{"B/STEP", "%.0f", func(r benchRun) *float64 { return r.WrittenPerStep }},
	{"COMMITS/STEP", "%.3f", func(r benchRun) *float64 { return some(r.CommitsPerStep) }},
	{"LOAD", "%.2f", func(r benchRun) *float64 { return r.Load }},
}

func some(v float64) *float64 {
	if v == 0 {
		return nil
	}
	return &v
}

func latency(of func(benchLatency) float64) func(benchRun) *float64 {
	return func(r benchRun) *float64 {
		if r.Latency == nil {
			return nil
		}
		return new(of(*r.Latency))
	}
}

func (r *benchRun) cells() []string {
	cells := make([]string, 0, len(benchColumns))
	for _, c := range benchColumns {
		cell := "-"
		if v := c.of(*r); v != nil {
			cell = fmt.Sprintf(c.format, *v)
		}
		cells = append(cells, cell)
	}
	return cells
}

// write prints a table of the runs, medians of repeated runs, and the figures that have no column.
func (b benchReport) write(out io.Writer) error {
	s := b.Settings
	fmt.Fprintf(out, "perdure %s, %s, %s, %d cores; %s %s\n\n", s.Perdure, s.Go, s.Platform, s.Cores, s.Store, s.durability())
	titles := make([]any, 0, 2+len(benchColumns))
	titles = append(titles, "WORKLOAD", "RUN")
	for _, c := range benchColumns {
		titles = append(titles, c.title)
	}
	err := writeTable(out, func(w io.Writer) {
		row(w, titles...)
		for _, r := range b.Runs {
			row(w, append([]any{r.name(), r.Run}, anyOf(r.cells())...)...)
		}
		for _, runs := range b.cases() {
			if len(runs) > 1 {
				row(w, append([]any{runs[0].name(), "median"}, anyOf(spread(runs, median))...)...)
				row(w, append([]any{"", "range"}, anyOf(spread(runs, extent))...)...)
			}
		}
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out)
	return writeTable(out, b.legend)
}

// legend prints the titles of the cases and the figures that have no column.
func (b benchReport) legend(w io.Writer) {
	for _, runs := range b.cases() {
		r := runs[0]
		text := r.Title + "; per s: " + r.Unit
		if r.Latency != nil {
			text += "; ms: " + r.Latency.Of
		}
		row(w, r.name(), text)
		for _, r := range runs {
			for _, name := range r.order {
				row(w, "", fmt.Sprintf("run %d: %s %.2f", r.Run, name, r.Figures[name]))
			}
			for _, note := range r.Notes {
				row(w, "", fmt.Sprintf("run %d: %s", r.Run, note))
			}
		}
	}
}

// cases groups the runs.
func (b benchReport) cases() (cases [][]benchRun) {
	for _, r := range b.Runs {
		at := slices.IndexFunc(cases, func(runs []benchRun) bool { return runs[0].name() == r.name() })
		if at < 0 {
			cases = append(cases, []benchRun{r})
			continue
		}
		cases[at] = append(cases[at], r)
	}
	return cases
}

func anyOf(cells []string) (all []any) {
	for _, c := range cells {
		all = append(all, c)
	}
	return all
}

// spread returns a cell for each column, made by text from the sorted figures of the runs.
func spread(runs []benchRun, text func(format string, sorted []float64) string) (cells []string) {
	for _, c := range benchColumns {
		var all []float64
		for _, r := range runs {
			if v := c.of(r); v != nil {
				all = append(all, *v)
			}
		}
		cell := "-"
		if len(all) > 0 {
			slices.Sort(all)
			cell = text(c.format, all)
		}
		cells = append(cells, cell)
	}
	return cells
}

func median(format string, sorted []float64) string {
	n := len(sorted)
	return fmt.Sprintf(format, (sorted[(n-1)/2]+sorted[n/2])/2)
}

func extent(format string, sorted []float64) string {
	return fmt.Sprintf(format+"-"+format, sorted[0], sorted[len(sorted)-1])
}
