package bulk_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/perdure/perdure/client"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/operate"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
	"github.com/perdure/perdure/runtime"
)

// scans counts scans of records, such as those of nodes.
type scans struct {
	*memory.Provider

	all atomic.Int64
}

func (s *scans) Record(ctx context.Context, req provider.RecordRequest) (provider.RecordResult, error) {
	if req.Action == provider.RecordScan {
		s.all.Add(1)
	}
	return s.Provider.Record(ctx, req)
}

// A list of jobs reads the nodes once, however many jobs wait for one.
func TestBulksReadNodesOnce(t *testing.T) {
	store := &scans{Provider: memory.New(memory.Options{})}
	e := enginetest.On(t, store, runtime.Options{})
	o := operate.New(e.Client(client.Options{}))
	for n := range 3 {
		if _, err := o.StartBulk(t.Context(), operate.BulkJob{ID: fmt.Sprint("j-", n), Act: client.ActSuspend, Max: 1}); err != nil {
			t.Fatal(err)
		}
	}
	b, err := o.Bulk(t.Context(), "j-0")
	if err != nil {
		t.Fatal(err)
	}
	before := store.all.Load()
	one, err := b.Describe(t.Context())
	if err != nil || one.Problem == "" {
		t.Fatalf("%+v %v, want that it waits for a node", one, err)
	}
	once := store.all.Load() - before
	jobs, _, err := o.Bulks(t.Context(), client.Page{})
	if err != nil || len(jobs) != 3 {
		t.Fatalf("%+v %v, want three jobs", jobs, err)
	}
	for _, j := range jobs {
		if j.Problem != one.Problem {
			t.Errorf("%s: %q, want %q", j.ID, j.Problem, one.Problem)
		}
	}
	if got := store.all.Load() - before - once; once == 0 || got != once {
		t.Errorf("a list reads the nodes %d times, one job %d times", got, once)
	}
}
