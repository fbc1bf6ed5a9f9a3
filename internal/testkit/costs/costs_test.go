package costs

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/perdure/perdure/internal/testkit/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestCompare(t *testing.T) {
	t.Parallel()
	stored := map[string]float64{"exact": 2, "loose": 100, "gone": 1}
	for _, c := range []struct {
		name          string
		exact, loose  float64
		worse, better []string
	}{
		{"the same", 2, 109, nil, nil},
		{"one more", 3, 100, []string{"exact"}, nil},
		{"a part more", 2, 111, []string{"loose"}, nil},
		{"less", 1, 80, nil, []string{"exact", "loose"}},
	} {
		figures := []Figure{{Name: "exact", Value: c.exact}, {Name: "loose", Value: c.loose, Slack: 0.1}, {Name: "new", Value: 1}}
		worse, better := compare(stored, figures)
		want := append(slices.Clone(c.worse), "new", "gone")
		if !slices.Equal(names(worse), want) || !slices.Equal(names(better), c.better) {
			t.Errorf("%s: worse %q, better %q", c.name, worse, better)
		}
	}
}

func names(texts []string) (all []string) {
	for _, text := range texts {
		name, _, _ := strings.Cut(text, ":")
		all = append(all, name)
	}
	return all
}

func TestWhatIsStoredIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "figures.json")
	figures := []Figure{{Name: "third", Value: 1.0 / 3}, {Name: "whole", Value: 7}}
	if err := write(path, figures); err != nil {
		t.Fatal(err)
	}
	stored, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	if worse, better := compare(stored, figures); len(worse)+len(better) > 0 {
		t.Errorf("worse %q, better %q", worse, better)
	}
}
