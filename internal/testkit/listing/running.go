package listing

import (
	"testing"

	"github.com/perdure/perdure/provider"
)

// CheckRunning checks the figures of running instances, counted up to most of each kind, 0 for all.
func CheckRunning(t *testing.T, p provider.Meter, all, most int64) {
	t.Helper()
	want := make(map[provider.Capability]*provider.RunningInstances)
	for _, r := range Rows(all) { // the newest first
		if r.Status != provider.StatusRunning {
			continue
		}
		of := provider.Capability{Name: r.Name, CodeVersion: r.Version}
		if want[of] == nil {
			want[of] = &provider.RunningInstances{Capability: of}
		}
		want[of].Count++
		want[of].Oldest = r.Created
	}
	res, err := p.Stats(t.Context(), provider.StatsRequest{Running: true, Most: most})
	if err != nil || len(res.Running) != len(want) {
		t.Fatalf("%d kinds, %v, want %d", len(res.Running), err, len(want))
	}
	for _, r := range res.Running {
		one := want[r.Capability]
		if one == nil {
			t.Fatalf("nothing of %+v runs", r.Capability)
		}
		if one.Limit(most); r != *one {
			t.Errorf("up to %d: got %+v, want %+v", most, r, *one)
		}
	}
}
