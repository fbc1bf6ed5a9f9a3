package audit_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/perdure/perdure/internal/audit"
	"github.com/perdure/perdure/internal/testkit/enginetest"
	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/memory"
)

// act writes an act of this release.
func act(t testing.TB, store provider.Keeper, who string) *audit.Entry {
	t.Helper()
	e := &audit.Entry{Principal: who, Role: "operator", Act: "terminate"}
	if err := e.Begin(t.Context(), store); err != nil {
		t.Fatal(err)
	}
	if err := e.End(t.Context(), store, time.Millisecond, nil); err != nil {
		t.Fatal(err)
	}
	return e
}

// older writes an act of a release before, in a process whose clock differs by skew. ended says that its outcome was written.
func older(t testing.TB, store provider.Keeper, who string, skew time.Duration, ended bool) {
	t.Helper()
	key := fmt.Sprintf("%016x-%s", uint64(math.MaxInt64-int64(provider.TimeOf(time.Now().Add(skew)))), uuid.NewString())
	put := func(e audit.Entry, version int64) provider.Time {
		value, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		res, err := store.Record(t.Context(), provider.RecordRequest{
			Action: provider.RecordPut, Namespace: "perdure/audit", Key: key, Value: value, Expect: version,
		})
		if err != nil {
			t.Fatal(err)
		}
		return res.Now
	}
	e := audit.Entry{Principal: who, Role: "operator", Act: "terminate"}
	at := put(e, 0)
	if ended {
		e.At, e.Outcome, e.EndedAt = at, audit.Done, provider.TimeOf(time.Now().Add(skew))
		put(e, 1)
	}
}

// names returns who did what matches, in pages of one.
func names(t testing.TB, store provider.Keeper, q audit.Query) (all []string) {
	t.Helper()
	for cursor := ""; ; {
		found, next, err := audit.List(t.Context(), store, &q, cursor, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range found {
			all = append(all, e.Principal)
		}
		if cursor = next; cursor == "" {
			return all
		}
	}
}

// The storage's clock orders, filters and prunes the audit, whatever the clocks of those who acted, also in releases before.
func TestAuditGoesByTheStoragesClock(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		store := provider.FullOf(e.Store)
		moment := func() {
			looked := 0
			e.Until("a moment is over", func() bool { looked++; return looked > 1 })
		}
		older(e.T, store, "behind", -20*time.Minute, true)
		older(e.T, store, "ahead", 10*time.Minute, true)
		older(e.T, store, "interrupted", -10*time.Minute, false)
		moment()
		second := act(e.T, store, "second")
		moment()
		third := act(e.T, store, "third")
		for _, c := range []struct {
			q    audit.Query
			want []string
		}{
			{audit.Query{From: second.At}, []string{"third", "second"}},
			{audit.Query{To: third.At}, []string{"ahead", "second", "interrupted", "behind"}},
			{audit.Query{From: second.At, To: third.At}, []string{"second"}},
		} {
			if got := names(e.T, store, c.q); !slices.Equal(got, c.want) {
				e.T.Errorf("%+v: %q, want %q", c.q, got, c.want)
			}
		}
		if second.At >= third.At {
			e.T.Errorf("%v is not before %v", second.At, third.At)
		}
	})
}

// A clock that is two days behind makes no act old.
func TestAuditKeepsActsOfClocksThatAreBehind(t *testing.T) {
	t.Parallel()
	enginetest.EveryStore(t, func(e *enginetest.Engine) {
		store := provider.FullOf(e.Store)
		for n := range 3 { // in front of what is old
			older(e.T, store, fmt.Sprint("behind", n), -48*time.Hour, n > 0)
		}
		act(e.T, store, "now")
		if old, err := audit.Old(e.T.Context(), store, 24*time.Hour, 2); len(old) != 0 || err != nil {
			e.T.Errorf("%d acts of this moment are older than a day, %v", len(old), err)
		}
	})
}

// With a store whose time is in the past, all times are that store's.
func TestAuditHasNoTimeOfTheProcess(t *testing.T) {
	t.Parallel()
	clock := memory.NewClock(time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC))
	store := provider.FullOf(memory.New(memory.Options{Clock: clock}))
	t.Cleanup(func() { _ = store.Close() })
	for n := range 3 {
		act(t, store, fmt.Sprint(n))
		clock.Advance(24 * time.Hour)
	}
	found, _, err := audit.List(t.Context(), store, &audit.Query{}, "", 10)
	if err != nil || len(found) != 3 {
		t.Fatalf("%d acts, %v", len(found), err)
	}
	for n, e := range found {
		if day := 3 - n; e.At.Std().Day() != day || e.EndedAt.Std().Day() != day || e.At.Std().Year() != 2020 || e.EndedAt.Std().Year() != 2020 {
			t.Errorf("act %d of day %d: from %v to %v", n, day, e.At.Std(), e.EndedAt.Std())
		}
	}
	old, err := audit.Old(context.WithoutCancel(t.Context()), store, 36*time.Hour, 10)
	if err != nil || len(old) != 2 {
		t.Fatalf("%d acts are older than 36 h, %v", len(old), err)
	}
	if err := audit.Remove(t.Context(), store, old); err != nil {
		t.Error(err)
	}
	if got := names(t, store, audit.Query{}); !slices.Equal(got, []string{"2"}) {
		t.Errorf("%q are left", got)
	}
}
