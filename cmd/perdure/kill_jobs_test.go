package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/invariant"
	"github.com/perdure/perdure/internal/replay"
	"github.com/perdure/perdure/internal/testkit/clienttest"
	"github.com/perdure/perdure/internal/testkit/longtest"
	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/orchestration"
	"github.com/perdure/perdure/provider"
)

// Counting counts the events "tick" until one of them is 0.
func Counting(ctx *orchestration.Context, _ string) (int, error) {
	ticks := orchestration.Events[int](ctx, "tick")
	for count := 0; ; count++ {
		if n, err := ticks.Receive(ctx); err != nil || n == 0 {
			return count, err
		}
	}
}

// Brief ends at once.
func Brief(*orchestration.Context, string) (string, error) { return "", nil }

const (
	jobSize  = 200 // instances that each bulk job acts on
	jobStep  = 60  // of them in one step
	oldSize  = 400 // instances that retention removes
	oldBatch = 200 // of them in one call of the store
	newSize  = 50  // instances that it leaves
)

// jobbing is a store on which jobs run in workers that are killed.
type jobbing struct {
	*fleet

	t      *testing.T
	path   string // for --db
	store  provider.Provider
	client *client.Client
}

func newJobbing(t *testing.T) *jobbing {
	t.Helper()
	return newJobbingOn(t, file(filepath.Join(t.TempDir(), "jobs.db")))
}

func newJobbingOn(t *testing.T, db database) *jobbing {
	t.Helper()
	j := &jobbing{t: t, path: db.name()}
	quiet := slog.New(slog.DiscardHandler)
	store, err := db.create(t.Context(), quiet)
	j.must(err)
	t.Cleanup(func() { _ = store.Close() })
	_, _, err = upgrade.Finish(t.Context(), provider.FullOf(store), replay.EngineLevel, false)
	j.must(err)
	j.store, j.client = store, clienttest.New(t, store, client.Options{Logger: quiet})
	j.fleet = newFleet(t, j.path, "", &output{})
	j.worker.Workload = workloadJobs
	return j
}

func (j *jobbing) must(err error) {
	j.t.Helper()
	if err != nil {
		j.t.Fatal(err)
	}
}

// begin starts instances with IDs of a prefix.
func (j *jobbing) begin(fn func(*orchestration.Context, string) (int, error), prefix, in string, n int) (all []client.Handle[int]) {
	j.t.Helper()
	for i := range n {
		h, err := client.Start(j.t.Context(), j.client, fn, in, client.WithID(fmt.Sprint(prefix, i)))
		j.must(err)
		all = append(all, h)
	}
	return all
}

// count returns how many instances a filter matches.
func (j *jobbing) count(ctx context.Context, f client.Filter) int64 {
	j.t.Helper()
	n, err := j.client.Count(ctx, f)
	j.must(err)
	return n
}

// A worker that runs two bulk jobs, a retention round and a schedule is killed again and again, in the middle of steps. Each acts once on
// each instance, and counts it once.
func TestKilledWorkersFinishJobs(t *testing.T) {
	longtest.Skip(t)
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		j := newJobbing(t)
		finishJobs(t, j, func(statement string) { alter(t, j.path, statement) })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := postgrestest.New(t).URL()
		db, err := databaseOf(url)
		if err != nil {
			t.Fatal(err)
		}
		finishJobs(t, newJobbingOn(t, db), func(statement string) { postgrestest.Exec(t, url, statement) })
	})
}

func finishJobs(t *testing.T, j *jobbing, ageing func(statement string)) {
	t.Helper()
	const kills = 6
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	j.age(ctx, ageing)
	counted := j.begin(Counting, "count-", "", jobSize)
	j.begin(Counting, "gone-", "", jobSize)
	every := client.ScheduleSpec{
		Every: []client.ScheduleInterval{{Every: time.Second}}, Overlap: client.OverlapAllowAll, MaxRunning: 100, CatchUp: client.CatchUp{Max: 1000},
	}
	schedule, err := client.CreateSchedule(ctx, j.client, "s", every, Brief, "")
	j.must(err)
	j.must(operate.New(j.client).SetRetention(ctx, operate.Retention{Rules: []operate.RetentionRule{{Age: operate.MinPruneAge}}, Batch: oldBatch, Rate: oldBatch}))
	j.man(1)
	j.cut(ctx, kills/3, &cutting{name: "retention", step: oldBatch, all: oldSize, over: j.roundOver, acted: func(ctx context.Context) int64 {
		return oldSize - j.count(ctx, client.Filter{IDPrefix: "old-"})
	}})
	rid := j.bulk(ctx, operate.BulkJob{ID: "rid", Act: client.ActDelete, Filter: client.Filter{IDPrefix: "gone-"}, Force: true})
	j.cut(ctx, kills/3, &cutting{name: "delete", step: jobStep, all: jobSize, over: j.bulkOver("rid"), acted: func(ctx context.Context) int64 {
		return jobSize - j.count(ctx, client.Filter{IDPrefix: "gone-"})
	}})
	tick := j.bulk(ctx, operate.BulkJob{ID: "tick", Act: client.ActRaise, Filter: client.Filter{IDPrefix: "count-"}, Event: "tick", Payload: 1})
	j.cut(ctx, kills/3, &cutting{name: "raise", step: jobStep, all: jobSize, over: j.bulkOver("tick"), acted: j.raised})
	for _, b := range []operate.Bulk{rid, tick} {
		j.finished(ctx, b)
	}
	j.retained(ctx)
	j.must(schedule.Pause(ctx, "the test ends"))
	j.exact(ctx, schedule)
	for _, h := range counted {
		j.must(h.Raise(ctx, "tick", 0))
	}
	for _, h := range counted {
		if n, err := h.Wait(ctx); err != nil || n != 1 {
			t.Errorf("%s received the event %d times, must once: %v", h.ID(), n, err)
		}
	}
	j.dismiss()
	if n := j.count(ctx, client.Filter{IDPrefix: "gone-"}); n != 0 {
		t.Errorf("%d instances are left of those to delete", n)
	}
	if n := j.count(ctx, client.Filter{IDPrefix: "count-"}); n != jobSize {
		t.Errorf("%d instances are left of the %d that nothing deletes", n, jobSize)
	}
	j.sound(ctx)
}

// age makes ended instances, some of which ended two days ago.
func (j *jobbing) age(ctx context.Context, alter func(statement string)) {
	j.t.Helper()
	j.man(1)
	var all []client.Handle[string]
	for prefix, n := range map[string]int{"old-": oldSize, "new-": newSize} {
		for i := range n {
			h, err := client.Start(ctx, j.client, Brief, "", client.WithID(fmt.Sprint(prefix, i)))
			j.must(err)
			all = append(all, h)
		}
	}
	for _, h := range all {
		_, err := h.Wait(ctx)
		j.must(err)
	}
	j.dismiss()
	table := "perdure_instance"
	if !strings.HasSuffix(j.path, ".db") {
		table = "perdure.instance"
	}
	alter(`UPDATE ` + table + ` SET ended_at = ended_at - 172800000000 WHERE id LIKE 'old-%'`)
}

func (j *jobbing) bulk(ctx context.Context, job operate.BulkJob) operate.Bulk {
	j.t.Helper()
	job.Max, job.Rate = jobSize, jobStep
	b, err := operate.New(j.client).StartBulk(ctx, job)
	j.must(err)
	return b
}

// finished waits for a job.
func (j *jobbing) finished(ctx context.Context, b operate.Bulk) {
	j.t.Helper()
	d, err := b.Describe(ctx)
	j.must(err)
	_, err = client.HandleOf[json.RawMessage](j.client, "perdure/bulk/"+b.ID(), d.Key).Wait(ctx, client.OrBlocked())
	j.must(err)
	d, err = b.Describe(ctx)
	j.must(err)
	if d.Phase != operate.BulkDone || d.Done != jobSize || d.Skipped+d.Failed != 0 {
		j.t.Errorf("bulk job %+v, must have done %d", d, jobSize)
	}
}

// retained waits for the end of the round of retention.
func (j *jobbing) retained(ctx context.Context) {
	j.t.Helper()
	for mark := ""; ; {
		info, err := operate.New(j.client).Retention(ctx)
		j.must(err)
		if !info.EndedAt.IsZero() {
			j.t.Logf("retention: %d instances in %d rounds", info.Instances, info.Rounds)
			if info.Problem != "" || info.Instances != oldSize {
				j.t.Errorf("retention: %+v, must have removed %d", info, oldSize)
			}
			break
		}
		_, mark, err = j.client.Follow(ctx, "perdure/retention", mark)
		j.must(err)
	}
	if old, recent := j.count(ctx, client.Filter{IDPrefix: "old-"}), j.count(ctx, client.Filter{IDPrefix: "new-"}); old != 0 || recent != newSize {
		j.t.Errorf("retention left %d old and %d new instances, must leave none and %d", old, recent, newSize)
	}
}

// exact checks that each due time of the schedule has one run.
func (j *jobbing) exact(ctx context.Context, s client.Schedule) {
	j.t.Helper()
	d, err := s.Describe(ctx)
	j.must(err)
	runs := make(map[string]int)
	var first, last string
	for i, err := range j.client.All(ctx, client.Filter{IDPrefix: "s/", Replaced: true}) {
		j.must(err)
		if runs[i.ID]++; first == "" || i.ID < first {
			first = i.ID
		}
		last = max(last, i.ID)
	}
	from, err := time.Parse("s/"+time.RFC3339, first)
	j.must(err)
	to, err := time.Parse("s/"+time.RFC3339, last)
	j.must(err)
	due := int64(0)
	for at := from; !at.After(to); at = at.Add(time.Second) {
		if due++; runs[at.Format("s/"+time.RFC3339)] != 1 {
			j.t.Errorf("due time %v has %d runs, must be one", at, runs[at.Format("s/"+time.RFC3339)])
		}
	}
	if d.Started != due || int64(len(runs)) != due || len(d.Skips) > 0 || from.Sub(d.CreatedAt) > time.Second {
		j.t.Errorf("%d runs from %v to %v: %+v", len(runs), from, to, d)
	}
	j.t.Logf("the schedule started %d due times", due)
}

// sound checks the whole store.
func (j *jobbing) sound(ctx context.Context) {
	j.t.Helper()
	report, err := invariant.Check(ctx, provider.FullOf(j.store), invariant.Options{Idle: true})
	j.must(err)
	for _, f := range report.Findings {
		j.t.Errorf("the store is broken: %v", f)
	}
}
