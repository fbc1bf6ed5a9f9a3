package operate_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

// endless is a store whose looks for what to remove always find more.
type endless struct {
	*provider.Full

	found int64
	takes time.Duration
}

func (e *endless) Prune(_ context.Context, req provider.PruneRequest) (provider.PruneResult, error) {
	if !req.Look {
		return provider.PruneResult{}, errors.New("a preview removes")
	}
	time.Sleep(e.takes)
	return provider.PruneResult{Instances: e.found, Cursor: "more"}, nil
}

func (e *endless) Trim(_ context.Context, req provider.TrimRequest) (provider.TrimResult, error) {
	if !req.Look {
		return provider.TrimResult{}, errors.New("a preview removes")
	}
	time.Sleep(e.takes)
	return provider.TrimResult{Executions: e.found, Cursor: "more"}, nil
}

// A preview ends by its count or its time, and says that there may be more. What it did not come to is not 0.
func TestPreviewsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		found int64
		takes time.Duration
		want  int64
	}{"count": {200, time.Millisecond, 10_000}, "time": {1, 500 * time.Millisecond, 6}, "nothing found": {0, time.Second, 0}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := clienttest.NewWorld(t, client.Options{})
				slow := clienttest.New(t, &endless{provider.FullOf(w.Store), c.found, c.takes}, client.Options{Logger: slog.New(slog.DiscardHandler)})
				o := operate.New(slow)
				want := client.Counted{Count: c.want}
				if n, err := o.PreviewPrune(t.Context(), operate.Pruning{Age: operate.MinPruneAge, Limit: 1, Cursor: "elsewhere"}); n != want || err != nil {
					t.Errorf("prune: %+v %v, want %+v", n, err, want)
				}
				if n, err := o.PreviewTrim(t.Context(), operate.Trimming{Age: operate.MinPruneAge, Limit: 1}); n != want || err != nil {
					t.Errorf("trim: %+v %v, want %+v", n, err, want)
				}
				p, err := o.PreviewRetention(t.Context(), operate.Retention{
					Rules: []operate.RetentionRule{{Names: []string{"A"}, Age: operate.MinPruneAge}, {Age: operate.MinPruneAge}}, Audit: operate.MinPruneAge,
				})
				if err != nil || p.Rules[0] != want || p.Rules[1].Exact || p.Own.Exact {
					t.Errorf("retention: %+v %v, want %+v first", p, err, want)
				}
				if late := name != "count"; late && (p.Rules[1].Count != 0 || p.Own.Count != 0 || p.Records.Exact) {
					t.Errorf("retention, when the time is over: %+v", p)
				}
			})
		})
	}
}

// A preview checks what it is asked as the act does, and a viewer may ask.
func TestPreviewsCheck(t *testing.T) {
	w := clienttest.NewWorld(t, client.Options{})
	viewer, err := w.As(client.Principal{Name: "ann", Role: client.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	o := operate.New(viewer)
	_, err = o.PreviewPrune(t.Context(), operate.Pruning{Age: time.Hour})
	clienttest.Want(t, err, "previewing a prune: invalid request: age 1h0m0s is less than 24h0m0s, within which a repeated start must find its instance: "+
		"give more, or set Young", client.ErrInvalid)
	_, err = o.PreviewTrim(t.Context(), operate.Trimming{Keep: -1})
	clienttest.Want(t, err, "previewing a trim: invalid request: keep -1: give 1 to 1000, or 0 for 1", client.ErrInvalid)
	none := client.Counted{Exact: true}
	if n, err := o.PreviewPrune(t.Context(), operate.Pruning{Age: operate.MinPruneAge}); n != none || err != nil {
		t.Errorf("%+v %v, want %+v", n, err, none)
	}
	if n, err := o.PreviewTrim(t.Context(), operate.Trimming{Age: operate.MinPruneAge}); n != none || err != nil {
		t.Errorf("%+v %v, want %+v", n, err, none)
	}
}
