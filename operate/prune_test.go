package operate_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
)

// storeSchedule stores a schedule that shows what it knows of its runs.
func storeSchedule(w *clienttest.World, shown any) {
	w.T.Helper()
	req := clienttest.SystemInstance()
	req.ID, req.Key, req.Name = "perdure/schedule/nightly", provider.UUID(uuid.New()), "perdure.schedule"
	if _, err := w.Store.Create(w.T.Context(), req); err != nil {
		w.T.Fatal(err)
	}
	value, err := json.Marshal(shown)
	if err != nil {
		w.T.Fatal(err)
	}
	i := w.Get(req.Key)
	_, err = w.Store.CommitTurn(w.T.Context(), provider.CommitTurnRequest{
		Key: i.Key, Execution: 1, Expected: i.Version, Commit: provider.UUID(uuid.New()), Status: provider.StatusRunning,
		Events: [][]byte{{1}}, Values: []provider.KeyValue{{Key: "schedule", Value: value}},
	})
	if err != nil {
		w.T.Fatal(err)
	}
}

// terminated starts instances and terminates them.
func terminated(w *clienttest.World, n int) (ended []client.Handle[clienttest.Receipt]) {
	w.T.Helper()
	for range n {
		h := w.Start()
		if err := h.Terminate(w.T.Context(), ""); err != nil {
			w.T.Fatal(err)
		}
		ended = append(ended, h)
	}
	return ended
}

// A prune with a table of names leaves what the schedules must find, and takes nothing that is young.
func TestHazard87_PruneSparesSchedules(t *testing.T) {
	w := clienttest.NewWorld(t, client.Options{})
	ended := terminated(w, 5)
	type run struct {
		Key provider.UUID `json:"key"`
	}
	storeSchedule(w, map[string]any{"running": []run{{ended[0].Key()}}, "ended": []run{{ended[1].Key()}, {ended[2].Key()}}})
	_, err := operate.New(w.Client).Prune(t.Context(), operate.Pruning{Age: time.Hour})
	clienttest.Want(t, err, "pruning instances: invalid request: age 1h0m0s is less than 24h0m0s, within which a repeated start must find its instance: "+
		"give more, or set Young", client.ErrInvalid)
	done, err := operate.New(w.Client).Prune(t.Context(), operate.Pruning{Young: true, ExceptNames: []string{"Checkout"}})
	if err != nil || done.Instances != 0 {
		t.Errorf("%+v %v, want nothing pruned", done, err)
	}
	done, err = operate.New(w.Client).Prune(t.Context(), operate.Pruning{Young: true, Limit: 1})
	if err != nil || done.Instances != 1 || done.Cursor == "" {
		t.Errorf("%+v %v, want one pruned and more to look at", done, err)
	}
	done, err = operate.New(w.Client).Prune(t.Context(), operate.Pruning{Young: true})
	if err != nil || done.Instances != 2 {
		t.Errorf("%+v %v, want two pruned", done, err)
	}
	for n, h := range ended {
		_, err := h.Describe(t.Context())
		if stays := n < 2; stays != (err == nil) {
			t.Errorf("run %d: %v, want it there: %v", n, err, stays)
		}
	}
}

// halting is a store whose first prune fails behind the first instance.
type halting struct {
	*provider.Full

	failed atomic.Bool
}

func (h *halting) Prune(ctx context.Context, req provider.PruneRequest) (provider.PruneResult, error) {
	if h.failed.Swap(true) {
		return h.Full.Prune(ctx, req)
	}
	req.Max = 1
	res, err := h.Full.Prune(ctx, req)
	if err == nil {
		err = &provider.Error{Op: "prune", Outcome: provider.OutcomeUnknown, Retryable: true, Err: errors.New("the disk is slow")}
	}
	return provider.PruneResult{Instances: res.Instances}, err
}

// A prune that is repeated counts what its first try has removed.
func TestPruneCountsEachTry(t *testing.T) {
	w := clienttest.NewWorld(t, client.Options{})
	for range 3 {
		if err := w.Start().Terminate(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	c := clienttest.New(t, &halting{Full: provider.FullOf(w.Store)}, client.Options{Logger: slog.New(slog.DiscardHandler)})
	if done, err := operate.New(c).Prune(t.Context(), operate.Pruning{Young: true}); err != nil || done.Instances != 3 {
		t.Errorf("%+v %v, want 3 pruned", done, err)
	}
}

// A preview counts what a prune removes, page after page, and removes nothing. It is no act, so a viewer may look.
func TestPruneAndTrimPreview(t *testing.T) {
	w := clienttest.NewWorld(t, client.Options{})
	const ended = 450 // three steps of the store
	for range ended {
		if err := w.Start().Terminate(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	viewer, err := w.As(client.Principal{Name: "ann", Role: client.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	var told []int64
	p := operate.Pruning{Young: true, Preview: true, Progress: func(n int64) { told = append(told, n) }}
	for range 2 {
		if done, err := operate.New(viewer).Prune(t.Context(), p); err != nil || done.Instances != ended || done.Cursor != "" {
			t.Errorf("%+v %v, want %d to go", done, err, ended)
		}
	}
	if n := len(told); n < 6 || told[n-1] != ended || !slices.IsSorted(told[n/2:]) {
		t.Errorf("told %d", told)
	}
	p.Limit = 300
	if done, err := operate.New(viewer).Prune(t.Context(), p); err != nil || done.Instances != p.Limit || done.Cursor == "" {
		t.Errorf("%+v %v, want %d to go, and more", done, err, p.Limit)
	}
	if done, err := operate.New(viewer).Trim(t.Context(), operate.Trimming{Preview: true}); err != nil || done.Executions != 0 {
		t.Errorf("%+v %v, want nothing to go", done, err)
	}
	if _, err := operate.New(viewer).Prune(t.Context(), operate.Pruning{Young: true}); !errors.Is(err, client.ErrForbidden) {
		t.Errorf("a viewer prunes: %v", err)
	}
	if acts, err := operate.New(w.Client).Audit(t.Context(), operate.AuditFilter{Act: client.ActPrune}, client.Page{}); err != nil || len(acts.Items) > 1 {
		t.Errorf("the audit has %+v (%v), want the act that was refused at most", acts.Items, err)
	}
	if done, err := operate.New(w.Client).Prune(t.Context(), operate.Pruning{Young: true}); err != nil || done.Instances != ended {
		t.Errorf("%+v %v, want %d pruned", done, err, ended)
	}
}

func TestTrimAndCompactLack(t *testing.T) {
	w := clienttest.NewWorld(t, client.Options{})
	if done, err := operate.New(w.Client).Trim(t.Context(), operate.Trimming{}); err != nil || done.Executions != 0 {
		t.Errorf("%+v %v", done, err)
	}
	_, err := operate.New(w.Client).Trim(t.Context(), operate.Trimming{Keep: -1})
	clienttest.Want(t, err, "trimming executions: invalid request: keep -1: give 1 to 1000, or 0 for 1", client.ErrInvalid)
	_, err = operate.New(w.Client).Compact(t.Context(), operate.Compaction{})
	if !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("compacting a store in memory: %v", err)
	}
}
