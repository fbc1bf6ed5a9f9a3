package operate_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

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

func (e *endless) Prune(ctx context.Context, req provider.PruneRequest) (provider.PruneResult, error) {
	if !req.Look {
		return provider.PruneResult{}, errors.New("a preview removes")
	}
	return provider.PruneResult{Instances: e.found, Cursor: "more"}, e.takeTime(ctx)
}

func (e *endless) takeTime(ctx context.Context) error {
	select {
	case <-time.After(e.takes):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (e *endless) Trim(ctx context.Context, req provider.TrimRequest) (provider.TrimResult, error) {
	if !req.Look {
		return provider.TrimResult{}, errors.New("a preview removes")
	}
	return provider.TrimResult{Executions: e.found, Cursor: "more"}, e.takeTime(ctx)
}

// A preview ends by its count or its time, and says that there may be more. What it did not come to is not 0.
func TestPreviewsAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		found int64
		takes time.Duration
		want  int64
	}{"count": {200, time.Millisecond, 10_000}, "time": {1, 400 * time.Millisecond, 7}, "nothing found": {0, time.Second, 0}, "one step": {5, time.Minute, 0}} {
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

// failing is a store that cannot look for what to remove.
type failing struct{ *provider.Full }

func (failing) Prune(context.Context, provider.PruneRequest) (provider.PruneResult, error) {
	return provider.PruneResult{}, &provider.Error{Op: "prune", Outcome: provider.OutcomeNothing, Retryable: true, Err: errors.New("the disk is gone")}
}

// A store that fails for as long as a preview takes is an error, and no count that took too long.
func TestPreviewsSayThatTheStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := clienttest.NewWorld(t, client.Options{})
		o := operate.New(clienttest.New(t, failing{provider.FullOf(w.Store)}, client.Options{Logger: slog.New(slog.DiscardHandler)}))
		if n, err := o.PreviewPrune(t.Context(), operate.Pruning{Age: operate.MinPruneAge}); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
			t.Errorf("prune: %+v %v", n, err)
		}
		r := operate.Retention{Rules: []operate.RetentionRule{{Age: operate.MinPruneAge}}}
		if p, err := o.PreviewRetention(t.Context(), r); err == nil || !strings.Contains(err.Error(), "the disk is gone") {
			t.Errorf("retention: %+v %v", p, err)
		}
	})
}

// Previews leave out what a prune and a round leave, the runs that a schedule must find, and count what a round removes of perdure itself.
func TestHazard87_PreviewsSpareSchedules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := clienttest.NewWorld(t, client.Options{})
		ended := terminated(w, 5)
		type run struct {
			Key provider.UUID `json:"key"`
		}
		storeSchedule(w, map[string]any{"running": []run{{ended[0].Key()}}, "ended": []run{{ended[1].Key()}}})
		job := clienttest.SystemInstance()
		job.ID, job.Key, job.Name = "perdure/bulk/sweep", provider.UUID(uuid.New()), "perdure.bulk"
		if _, err := w.Store.Create(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		token := provider.UUID(uuid.New())
		turns, err := w.Store.FetchTurns(t.Context(), provider.FetchTurnsRequest{
			Owner: "test", Token: token, Lease: time.Minute, Capabilities: []provider.Capability{{Name: job.Name}}, EngineLevel: job.EngineLevel, Max: 1,
		})
		if err != nil || len(turns.Turns) != 1 {
			t.Fatalf("%d turns, %v", len(turns.Turns), err)
		}
		_, err = w.Store.CommitTurn(t.Context(), provider.CommitTurnRequest{
			Lease: token, Consumed: []int64{turns.Turns[0].Messages[0].ID}, Key: job.Key, Execution: 1, Expected: w.Get(job.Key).Version, Commit: provider.UUID(uuid.New()), Status: provider.StatusCompleted, Events: [][]byte{{1}},
		})
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(31 * 24 * time.Hour)
		o, three := operate.New(w.Client), client.Counted{Count: 3, Exact: true}
		if n, err := o.PreviewPrune(t.Context(), operate.Pruning{Age: operate.MinPruneAge}); n != three || err != nil {
			t.Errorf("prune: %+v %v, want 3", n, err)
		}
		p, err := o.PreviewRetention(t.Context(), operate.Retention{Rules: []operate.RetentionRule{{Age: operate.MinPruneAge}}})
		if err != nil || p.Rules[0] != three || p.Own != (client.Counted{Count: 1, Exact: true}) || p.Instances().Count != 4 {
			t.Errorf("retention: %+v %v, want 3 and a bulk job", p, err)
		}
		if p, err := o.PreviewRetention(t.Context(), operate.Retention{Audit: operate.MinPruneAge}); err != nil || p.Own != (client.Counted{Exact: true}) {
			t.Errorf("without rules that remove instances: %+v %v", p, err)
		}
	})
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
	_, err = o.PreviewPrune(t.Context(), operate.Pruning{Age: operate.MinPruneAge, Limit: -1})
	clienttest.Want(t, err, "previewing a prune: invalid request: limit -1: give 1 or more, or 0 for none", client.ErrInvalid)
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
