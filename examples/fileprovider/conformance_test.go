package fileprovider

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/validations"
)

// open opens a store and closes it when the test ends.
func open(t *testing.T, path string) *Provider {
	t.Helper()
	p, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func newFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "store")
}

func TestConformance(t *testing.T) {
	validations.Run(t, func(t *testing.T) provider.Provider {
		return open(t, newFile(t))
	})
}

// The store that each case of the suite leaves behind is the same after it was closed and opened again.
func TestConformanceSurvivesReopening(t *testing.T) {
	validations.Run(t, func(t *testing.T) provider.Provider {
		path := newFile(t)
		p := open(t, path)
		t.Cleanup(func() {
			ctx := context.WithoutCancel(t.Context())
			before, err := dump(ctx, p)
			if errors.Is(err, provider.ErrClosed) {
				return // the case is about closing
			}
			if err := errors.Join(err, p.Close()); err != nil {
				t.Error(err)
			}
			again, err := Open(ctx, path)
			if err != nil {
				t.Errorf("open it again: %v", err)
				return
			}
			after, err := dump(ctx, again)
			if err := errors.Join(err, again.Close()); err != nil {
				t.Error(err)
			}
			if len(before) != len(after) {
				t.Errorf("the store has %d answers after it was opened again, %d before", len(after), len(before))
			}
			// One by one, as to compare all takes minutes if much of it differs.
			for i := range min(len(before), len(after)) {
				if !reflect.DeepEqual(before[i], after[i]) {
					t.Errorf("the store differs after it was opened again: before\n%.2000v\nafter\n%.2000v", before[i], after[i])
					break
				}
			}
		})
		return p
	}, validations.Skip("send/inbox-full", "a hundred thousand messages take long to compare"))
}

// dump returns the content of a store, without values that depend on the current time.
func dump(ctx context.Context, p *Provider) (all []any, err error) {
	keep := func(v any, failed error) {
		all, err = append(all, v), errors.Join(err, failed)
	}
	var keys []provider.Instance
	for kind := provider.InspectInstances; kind <= provider.InspectDeadLetters; kind++ {
		for cursor, more := "", true; more; more = cursor != "" {
			page, failed := p.Inspect(ctx, provider.InspectRequest{Kind: kind, Cursor: cursor})
			keys = append(keys, page.Instances...)
			cursor = page.Cursor
			page.Now = 0
			for i := range page.TurnLeases {
				page.TurnLeases[i].Lease.Over = false
			}
			for i := range page.Tasks {
				page.Tasks[i].Lease.Over = false
			}
			if kind == provider.InspectAsks {
				page.Keys = nil // leases of questions end with their calls
			}
			keep(page, failed)
		}
	}
	for _, i := range keys {
		got, failed := p.Get(ctx, provider.GetRequest{Key: i.Key, WithTasks: true, WithValues: true})
		got.Now = 0
		for n := range got.Tasks {
			if got.Tasks[n].State == provider.TaskLeased {
				got.Tasks[n].State = provider.TaskQueued // the lease may have expired
			}
		}
		keep(got, failed)
		for x := int64(1); x <= i.Execution; x++ {
			events, failed := p.ReadHistory(ctx, provider.ReadHistoryRequest{Key: i.Key, Execution: x, From: 1})
			keep(events, failed)
		}
	}
	letters, failed := p.DeadLetters(ctx, provider.DeadLettersRequest{})
	keep(letters, failed)
	for _, space := range []string{"n", "other"} {
		records, failed := p.Record(ctx, provider.RecordRequest{Action: provider.RecordScan, Namespace: space})
		records.Now = 0
		keep(records, failed)
	}
	return all, err
}
