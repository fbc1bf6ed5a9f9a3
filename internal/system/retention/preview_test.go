package retention_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
)

// preview counts for a viewer what rules would remove.
func (w *world) preview(r operate.Retention) operate.RetentionPreview {
	w.T.Helper()
	viewer, err := w.c.As(client.Principal{Name: "ann", Role: client.RoleViewer})
	if err != nil {
		w.T.Fatal(err)
	}
	p, err := operate.New(viewer).PreviewRetention(w.T.Context(), r)
	if err != nil {
		w.T.Fatal(err)
	}
	return p
}

// exactly returns counts that are exact.
func exactly(counts ...int64) (all []client.Counted) {
	for _, n := range counts {
		all = append(all, client.Counted{Count: n, Exact: true})
	}
	return all
}

// A preview counts what the next round removes of each kind, and removes nothing. What an earlier rule keeps or takes is not counted for a later one.
func TestPreviewIsWhatARoundRemoves(t *testing.T) {
	bubble(t, func(w *world) {
		w.ended()
		eternal := w.Create("eternal", "Eternal", 6)
		w.Until("it waits", func() bool { return w.Get(eternal).Execution == 7 })
		admin, err := w.c.As(client.Principal{Name: "ann", Role: client.RoleAdmin})
		if err != nil {
			w.T.Fatal(err)
		}
		for range 3 { // records of the audit
			if err := operate.New(admin).SetRetention(w.T.Context(), operate.Retention{}); err != nil {
				w.T.Fatal(err)
			}
		}
		later(5 * day)
		w.ended2()
		r := operate.Retention{
			Rules: []operate.RetentionRule{
				{Names: []string{"Quick"}, Statuses: []client.Status{client.StatusFailed}, Age: orchestration.Off},
				{Names: []string{"Quick"}, Age: 2 * day},
				{Names: []string{"Quick", "Slow"}, Age: 2 * day},
				{Age: 30 * day},
			},
			Trim: &operate.TrimRule{Age: 2 * day, Keep: 2}, Audit: 3 * day,
		}
		p := w.preview(r)
		if !slices.Equal(p.Rules, exactly(0, 1, 1, 0)) || !slices.Equal([]client.Counted{p.Own, p.Executions, p.Records}, exactly(0, 4, 3)) {
			w.T.Errorf("%+v", p)
		}
		w.ids("after a preview", "Quick0", "Quick1", "Slow2", "Quick3", "Slow4", "eternal")
		w.set(r)
		later(10 * time.Minute)
		info, err := operate.New(w.c).Retention(w.T.Context())
		if err != nil || info.Instances != 2 || info.Executions != p.Executions.Count || info.Records != p.Records.Count {
			w.T.Errorf("the round: %+v %v, want what the preview says: %+v", info, err, p)
		}
		if p := w.preview(r); !slices.Equal(p.Rules, exactly(0, 0, 0, 0)) || p.Executions.Count+p.Records.Count != 0 {
			w.T.Errorf("after the round: %+v", p)
		}
	})
}

// ended2 starts two more instances and waits for their ends.
func (w *world) ended2() {
	w.WaitEnded(w.Create("Quick3", "Quick", false))
	w.WaitEnded(w.Create("Slow4", "Slow", none{}))
}

// The rules of a preview together count each instance that a round removes once, whatever the rules are.
func TestPreviewOfAnyRules(t *testing.T) {
	bubble(t, func(w *world) {
		for n := range 12 {
			if n%3 == 2 {
				w.WaitEnded(w.Create(fmt.Sprint("slow-", n), "Slow", none{}))
			} else {
				w.WaitEnded(w.Create(fmt.Sprint("quick-", n), "Quick", n%3 == 1))
			}
			later(6 * time.Hour)
		}
		names := []string{"Quick", "Slow", "Nobody"}
		statuses := []client.Status{client.StatusCompleted, client.StatusFailed, client.StatusTerminated}
		ages := []time.Duration{orchestration.Off, day, 36 * time.Hour, 2 * day}
		list, err := w.c.List(w.T.Context(), client.Filter{}, client.Page{})
		if err != nil {
			w.T.Fatal(err)
		}
		now := time.Now()
		rapid.Check(t, func(rt *rapid.T) {
			var r operate.Retention
			for range rapid.IntRange(1, 4).Draw(rt, "rules") {
				r.Rules = append(r.Rules, operate.RetentionRule{
					Names:    rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 2, rapid.ID).Draw(rt, "names"),
					Statuses: rapid.SliceOfNDistinct(rapid.SampledFrom(statuses), 0, 2, rapid.ID).Draw(rt, "statuses"),
					Age:      rapid.SampledFrom(ages).Draw(rt, "age"),
				})
			}
			want := make([]int64, len(r.Rules))
			for i := range list.Items {
				d := &list.Items[i]
				first := slices.IndexFunc(r.Rules, func(rule operate.RetentionRule) bool {
					return (len(rule.Names) == 0 || slices.Contains(rule.Names, d.Orchestration)) &&
						(len(rule.Statuses) == 0 || slices.Contains(rule.Statuses, d.Status))
				})
				if first >= 0 && r.Rules[first].Age != orchestration.Off && now.Sub(d.EndedAt) >= r.Rules[first].Age {
					want[first]++
				}
			}
			if p := w.preview(r); !slices.Equal(p.Rules, exactly(want...)) {
				rt.Errorf("%+v: counted %+v, want %d", r.Rules, p.Rules, want)
			}
		})
	})
}

// A preview refuses what the rules would be refused for.
func TestPreviewRefuses(t *testing.T) {
	bubble(t, func(w *world) {
		_, err := operate.New(w.c).PreviewRetention(w.T.Context(), operate.Retention{Rules: []operate.RetentionRule{{Age: time.Hour}}})
		if !errors.Is(err, client.ErrInvalid) {
			w.T.Error(err)
		}
		if p := w.preview(operate.Retention{}); len(p.Rules) != 0 || p.Own != (client.Counted{Exact: true}) {
			w.T.Errorf("without rules: %+v", p)
		}
	})
}
