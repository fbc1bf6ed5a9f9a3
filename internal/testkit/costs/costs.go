// Package costs compares the cost of work with stored figures. The figures are statements, commits, bytes and
// allocations. They do not depend on the speed or load of the machine, so a test may fail by them. They are kept in
// bench/testdata. The package is for tests only.
package costs

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/perdure/perdure/internal/testkit/settings"
)

//nolint:gochecknoglobals // a flag of tests
var update = flag.Bool("costs.update", false, "store the figures of cost as they are now")

// Figure is the cost of something. Slack is the fraction by which it may grow and still count as the same: 0 where it
// is always the same.
type Figure struct {
	Name  string
	Value float64
	Slack float64
}

// Check fails the test if a figure is higher than the stored one. name is the name of the file.
func Check(t testing.TB, name string, figures []Figure) {
	t.Helper()
	path := filepath.Join(settings.Root(t), "bench", "testdata", name+".json")
	if *update {
		if err := write(path, figures); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	worse, better := compare(stored, figures)
	for _, text := range better {
		t.Logf("%s: %s; store it with `make bench-check UPDATE=1`", name, text)
	}
	for _, text := range worse {
		t.Errorf("%s: %s", name, text)
	}
}

// compare returns what has become worse and what better.
func compare(stored map[string]float64, figures []Figure) (worse, better []string) {
	measured := make(map[string]bool)
	for _, f := range figures {
		measured[f.Name] = true
		was, known := stored[f.Name]
		change := fmt.Sprintf("%s: %.2f, was %.2f", f.Name, f.Value, was)
		switch {
		case !known:
			worse = append(worse, fmt.Sprintf("%s: %.2f, which is not stored: run `make bench-check UPDATE=1`", f.Name, f.Value))
		case f.Value > was*(1+f.Slack)+rounding:
			worse = append(worse, change)
		case f.Value < was*(1-f.Slack)-rounding:
			better = append(better, change)
		}
	}
	for name := range stored {
		if !measured[name] {
			worse = append(worse, name+": is stored and was not measured")
		}
	}
	return worse, better
}

// rounding is the allowed difference for figures stored in decimals.
const rounding = 0.005

func read(path string) (stored map[string]float64, err error) {
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &stored)
	}
	if err != nil {
		return nil, fmt.Errorf("reading figures of cost: %w", err)
	}
	return stored, nil
}

func write(path string, figures []Figure) error {
	values := make(map[string]json.Number)
	for _, f := range figures {
		values[f.Name] = json.Number(fmt.Sprintf("%.2f", f.Value))
	}
	data, err := json.MarshalIndent(values, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("storing figures of cost: %w", err)
	}
	return nil
}
