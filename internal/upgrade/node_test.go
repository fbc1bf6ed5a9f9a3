package upgrade_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/perdure/perdure/internal/upgrade"
	"github.com/perdure/perdure/provider"
)

// join starts a node. stop ends it.
func join(t *testing.T, store *counted, owner string, level int64, runs ...provider.Capability) (stop func()) {
	t.Helper()
	l := open(t, store, level)
	m, err := upgrade.Join(t.Context(), l, owner, runs, slog.New(slog.DiscardHandler), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		m.Run(ctx)
	}()
	return func() {
		cancel()
		<-ended
	}
}

// nodes lists the nodes of a store.
func nodes(t *testing.T, store provider.Provider) []upgrade.Node {
	t.Helper()
	all, _, err := upgrade.Nodes(t.Context(), full(store))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A node is listed from Join until its end, with what it runs.
func TestNodesAreListed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store *counted) {
		many := make([]provider.Capability, 0, upgrade.MaxListed+1)
		for i := range upgrade.MaxListed + 1 {
			many = append(many, provider.Capability{Name: fmt.Sprintf("o%03d", i)})
		}
		stop := join(t, store, "a", 9, provider.Capability{Name: "two"}, provider.Capability{Name: "one", CodeVersion: "2"})
		second := join(t, store, "b", 7, many...)
		all := nodes(t, store)
		if len(all) != 2 {
			t.Fatalf("%+v", all)
		}
		if a := all[0]; a.Owner != "a" || a.Level != 9 || a.Release == "" || a.Count != 2 || a.Renewed == 0 ||
			fmt.Sprint(a.Orchestrations) != "[{one 2} {two }]" {
			t.Errorf("%+v", a)
		}
		if b := all[1]; b.Level != 7 || b.Count != upgrade.MaxListed+1 || len(b.Orchestrations) != upgrade.MaxListed {
			t.Errorf("%d of %d orchestrations", len(b.Orchestrations), b.Count)
		}
		stop()
		if all := nodes(t, store); len(all) != 1 || all[0].Owner != "b" {
			t.Errorf("after the end of a: %+v", all)
		}
		second()
	})
}

// An idle node writes every 15 minutes and looks for the records of dead nodes then. It reads nothing else once the store allows its level.
func TestIdleNodeCallsEightTimesAnHour(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store *counted) {
		stop := join(t, store, "a", 9)
		before := store.records.Load()
		for range 24 {
			pass(time.Hour)
			synctest.Wait()
			if len(nodes(t, store)) != 1 {
				t.Fatal("a node that runs is not listed")
			}
			before++ // by nodes
		}
		if n := store.records.Load() - before; n != 8*24 {
			t.Errorf("%d calls in a day, want %d", n, 8*24)
		}
		stop()
	})
}

// The record of a node that was killed counts for an hour. A list changes nothing; another node removes the record with its
// next renewal. A node that was only frozen comes back.
func TestDeadNodesGo(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store *counted) {
		l := open(t, store, 9)
		m, err := upgrade.Join(t.Context(), l, "killed", nil, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		if len(nodes(t, store)) != 1 {
			t.Error("the node is gone within an hour")
		}
		pass(time.Second)
		if all := nodes(t, store); len(all) != 0 {
			t.Errorf("after an hour: %+v", all)
		}
		stored := func() int {
			res, err := full(store).Record(t.Context(), provider.RecordRequest{Action: provider.RecordScan, Namespace: "perdure/nodes"})
			if err != nil {
				t.Error(err)
			}
			return len(res.Records)
		}
		if n := stored(); n != 1 {
			t.Errorf("a list has left %d records", n)
		}
		other, err := upgrade.Join(t.Context(), l, "other", nil, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		alive, stop := context.WithCancel(t.Context())
		over := make(chan struct{})
		go func() {
			defer close(over)
			other.Run(alive)
		}()
		pass(upgrade.Renewal + time.Second)
		if n := stored(); n != 1 {
			t.Errorf("%d records after a renewal, want that of the living node", n)
		}
		stop()
		<-over
		ctx, cancel := context.WithTimeout(t.Context(), 16*time.Minute) // the node runs again
		defer cancel()
		context.AfterFunc(t.Context(), cancel)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.Run(ctx)
		}()
		pass(upgrade.Renewal + time.Second)
		if len(nodes(t, store)) != 1 {
			t.Error("the node that runs again is not listed")
		}
		<-ended
	})
}

// While the store is away a node tries again each minute.
func TestRenewalOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store *counted) {
		stop := join(t, store, "a", 9)
		store.fail.Store(true)
		pass(2 * time.Hour)
		store.fail.Store(false)
		pass(time.Minute + time.Second)
		if len(nodes(t, store)) != 1 {
			t.Error("the node is not listed a minute after the outage")
		}
		stop()
	})
}

// A node that runs sees within a minute that the upgrade is finished.
func TestNodeSeesTheEndOfAnUpgrade(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, store *counted) {
		create(t, store, "a", 4)
		l := open(t, store, 9)
		m, err := upgrade.Join(t.Context(), l, "node", nil, slog.New(slog.DiscardHandler), nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			m.Run(ctx)
		}()
		if _, _, err := upgrade.Finish(t.Context(), full(store), 9, false); err != nil {
			t.Fatal(err)
		}
		pass(61 * time.Second)
		if l.Allowed() != 9 {
			t.Errorf("after a minute the node may use level %d, want 9", l.Allowed())
		}
		cancel()
		<-ended
	})
}
