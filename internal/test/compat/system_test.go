package compat

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/runtime"
)

// This is the code of testdata/system.db. It is frozen, because the store holds its histories. The store also holds those of version 1 of
// perdure's own orchestrations: a schedule, a bulk job and retention. Their commands may not change; later code is a version of its own.

// Held counts its events until one is "end".
func Held(ctx *orchestration.Context, _ orchestration.None) (int, error) {
	words := orchestration.Events[string](ctx, "word")
	for n := 0; ; n++ {
		if word, err := words.Receive(ctx); err != nil || word == "end" {
			return n, err
		}
	}
}

func systemRegistry() *runtime.Registry {
	reg := runtime.NewRegistry()
	_ = runtime.AddOrchestration(reg, Held)
	return reg
}

// TestRecordSystem records the store: a schedule that was paused and resumed, with a run that goes on and one that was skipped; a bulk job that
// was stopped between two instances; and retention after its first round.
func TestRecordSystem(t *testing.T) {
	if !*record {
		t.Skip("records only with -record")
	}
	path, ctx := filepath.Join(t.TempDir(), "system.db"), t.Context()
	n := open(t, path, systemRegistry())
	failed := func(errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, id := range []string{"held-1", "held-2", "held-3"} {
		_, err := client.Start(ctx, n.c, Held, orchestration.None{}, client.WithID(id))
		failed(err)
	}
	year := client.ScheduleSpec{Every: []client.ScheduleInterval{{Every: 365 * 24 * time.Hour}}}
	s, err := client.CreateSchedule(ctx, n.c, "yearly", year, Held, orchestration.None{})
	failed(err)
	for _, started := range []bool{true, false} {
		got, err := s.Trigger(ctx)
		failed(err)
		if (got.Run != nil) != started {
			t.Fatalf("trigger: %+v", got)
		}
	}
	failed(s.Pause(ctx, "holidays"), s.Resume(ctx, "back"))
	job, err := operate.New(n.c).StartBulk(ctx, operate.BulkJob{
		ID: "words", Act: client.ActRaise, Event: "word", Payload: "hi", Filter: client.Filter{IDPrefix: "held-"}, Before: time.Now().Add(time.Hour), Max: 3, Rate: 0.5,
	})
	failed(err)
	n.untilTrue(t, func() (bool, error) {
		info, err := job.Describe(ctx)
		return info.Done >= 1, err
	})
	failed(job.Stop(ctx))
	n.untilTrue(t, func() (bool, error) {
		info, err := job.Describe(ctx)
		return info.Phase == operate.BulkStopped, err
	})
	failed(operate.New(n.c).SetRetention(ctx, operate.Retention{Rules: []operate.RetentionRule{{Age: 1000 * 24 * time.Hour}}}))
	n.untilTrue(t, func() (bool, error) {
		info, err := operate.New(n.c).Retention(ctx)
		return info.Rounds >= 1 && !info.EndedAt.IsZero(), err
	})
	n.record(t, path, "system")
}

// untilTrue polls until a state of the store is as wanted.
func (n *node) untilTrue(t *testing.T, wanted func() (bool, error)) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, err := wanted()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(err)
		}
	}
}

func TestSystemStoreGoesOn(t *testing.T) {
	n := open(t, copied(t, "system.db"), systemRegistry())
	defer n.close(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	s := n.c.Schedule("yearly")
	before, err := s.Describe(ctx)
	if err != nil || before.Runs != 1 || before.Skips["running"] != 1 {
		t.Fatalf("the schedule: %+v, %v", before, err)
	}
	runs, err := n.c.List(ctx, client.Filter{IDPrefix: "yearly/"}, client.Page{})
	if err != nil || len(runs.Items) != 1 {
		t.Fatalf("runs: %+v, %v", runs, err)
	}
	if err := n.c.Raise(ctx, runs.Items[0].ID, "word", "end"); err != nil {
		t.Fatal(err)
	}
	n.ends(ctx, t, map[string]string{runs.Items[0].ID: "0"})
	if got, err := s.Trigger(ctx); err != nil || got.Run == nil {
		t.Errorf("the schedule starts nothing more: %+v, %v", got, err)
	}
	job, err := operate.New(n.c).Bulk(ctx, "words")
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Resume(ctx); err != nil {
		t.Fatal(err)
	}
	n.untilTrue(t, func() (bool, error) {
		info, err := job.Describe(ctx)
		return info.Phase == operate.BulkDone && info.Done == 3, err
	})
	for _, id := range []string{"held-1", "held-2", "held-3"} {
		if err := n.c.Raise(ctx, id, "word", "end"); err != nil {
			t.Fatal(err)
		}
	}
	n.ends(ctx, t, map[string]string{"held-1": "1", "held-2": "1", "held-3": "1"})
	rounds := int64(0)
	n.untilTrue(t, func() (bool, error) {
		info, err := operate.New(n.c).Retention(ctx)
		rounds = info.Rounds
		return info.On && rounds >= 1, err
	})
	if err := operate.New(n.c).RunRetention(ctx); err != nil {
		t.Fatal(err)
	}
	n.untilTrue(t, func() (bool, error) {
		info, err := operate.New(n.c).Retention(ctx)
		return info.Rounds > rounds && info.Problem == "", err
	})
}
