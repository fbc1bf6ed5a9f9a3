package prometheus

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	prom "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	dto "github.com/prometheus/client_model/go"

	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	page   = "../../docs/reference/metrics.md"
	alerts = "../../docs/reference/alerts.yml"
)

// The reference page has exactly the metrics that there are, with their types and labels.
func TestPageHasAllMetrics(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `perdure_") {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
			rows = append(rows, fmt.Sprintf("%s %s %s", strings.Trim(cells[0], " `"), strings.TrimSpace(cells[1]), strings.TrimSpace(cells[2])))
		}
	}
	var want []string
	for _, m := range metrics {
		labels := make([]string, 0, len(m.labels))
		for _, l := range m.labels {
			labels = append(labels, "`"+l+"`")
		}
		want = append(want, fmt.Sprintf("%s %s %s", m.name, m.kind, strings.Join(labels, ", ")))
	}
	if !slices.Equal(rows, want) {
		t.Errorf("the page has\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
}

// Alert rules name metrics that there are, and labels that these have.
func TestAlertsNameMetrics(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(alerts)
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]*metric{}
	for i := range metrics {
		m := &metrics[i]
		known[m.name] = m
		if m.kind == histogram {
			known[m.name+"_bucket"], known[m.name+"_count"], known[m.name+"_sum"] = m, m, m
		}
	}
	seen := 0
	for _, found := range regexp.MustCompile(`(perdure_\w+)(?:\{(\w+)[=!~])?`).FindAllStringSubmatch(string(text), -1) {
		m := known[found[1]]
		if m == nil || found[2] != "" && !slices.Contains(m.labels, found[2]) {
			t.Errorf("%s names no metric, or none of its labels", found[0])
		}
		seen++
	}
	for _, by := range regexp.MustCompile(`\$labels\.(\w+)`).FindAllStringSubmatch(string(text), -1) {
		if !slices.ContainsFunc(metrics, func(m metric) bool { return slices.Contains(m.labels, by[1]) }) {
			t.Errorf("no metric has a label %s", by[1])
		}
	}
	if seen < 6 {
		t.Errorf("only %d names were found", seen)
	}
}

// exposition returns what a scrape gets, parsed.
func exposition(t *testing.T, o *Observer) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prom.NewPedanticRegistry()
	if err := registry.Register(o); err != nil {
		t.Fatal(err)
	}
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, family := range gathered {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text.String()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, &text)
	}
	return families
}

// compare demands that a scrape has exactly the given metrics, with the types and labels of the table.
func compare(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	for i := range metrics {
		m := &metrics[i]
		family := families[m.name]
		if family == nil {
			t.Errorf("%s was not seen", m.name)
			continue
		}
		if got := strings.ToLower(family.GetType().String()); got != m.kind || family.GetHelp() != m.help {
			t.Errorf("%s is a %s: %s", m.name, got, family.GetHelp())
		}
		for _, one := range family.GetMetric() {
			var labels []string
			for _, l := range one.GetLabel() {
				labels = append(labels, l.GetName())
			}
			want := slices.Sorted(slices.Values(m.labels))
			if !slices.Equal(slices.Sorted(slices.Values(labels)), want) {
				t.Errorf("%s has the labels %q, want %q", m.name, labels, want)
			}
		}
	}
	for name := range maps.Keys(families) {
		if !slices.ContainsFunc(metrics, func(m metric) bool { return m.name == name }) {
			t.Errorf("%s is not documented", name)
		}
	}
}

// values returns the values of a label in a scrape.
func values(families map[string]*dto.MetricFamily, label string) (all []string) {
	seen := map[string]bool{}
	for _, family := range families {
		for _, one := range family.GetMetric() {
			for _, l := range one.GetLabel() {
				if l.GetName() == label {
					seen[l.GetValue()] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
