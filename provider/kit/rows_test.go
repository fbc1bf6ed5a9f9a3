package kit_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/kit"
)

// rowsOf scans rows that do not change.
func rowsOf[Row any](rows ...Row) kit.Scan[Row] {
	return func(_ context.Context, each func(Row) bool) error {
		for _, row := range rows {
			if !each(row) {
				break
			}
		}
		return nil
	}
}

const now = provider.Time(1000)

func at() provider.Time { return now }

// key returns the key of an instance, in the order of its names.
func key(name string) (k provider.UUID) {
	copy(k[:], name)
	return k
}

// row returns an instance in its first execution, and one of its version.
func row(name string, status provider.Status, edits ...func(*kit.InstanceRow)) kit.InstanceRow {
	i := kit.InstanceRow{Instance: provider.Instance{ID: name, Key: key(name), Name: "orc", Status: status, Execution: 1, Version: key("v" + name)}}
	if i.CreatedAt = 1; status.Ended() {
		i.EndedAt = 5
	}
	for _, edit := range edits {
		edit(&i)
	}
	return i
}

func TestStatsCountWhatCouldBeFetched(t *testing.T) {
	t.Parallel()
	const running = provider.StatusRunning
	ready := func(i *kit.InstanceRow) { i.ReadyAt = 10 }
	m := kit.Meter{
		Now: at, Letters: rowsOf(key("a"), key("a"), key("gone")),
		Instances: rowsOf(
			row("a", running, ready), row("b", running, ready, func(i *kit.InstanceRow) { i.ReadyAt, i.CreatedAt = 7, 0 }),
			row("leased", running, ready, func(i *kit.InstanceRow) { i.Lease.Until = now + 1 }),
			row("over", running, ready, func(i *kit.InstanceRow) { i.Lease.Until, i.EngineLevel = now, 2 }),
			row("delayed", running, ready, func(i *kit.InstanceRow) { i.NotBefore = now + 1 }),
			row("later", running, func(i *kit.InstanceRow) { i.ReadyAt = now + 1 }),
			row("idle", running),
			row("held", running, ready, func(i *kit.InstanceRow) { i.Blocked = &provider.Blocked{} }),
			row("retried", running, ready, func(i *kit.InstanceRow) { i.Blocked, i.CodeVersion = &provider.Blocked{RetryAt: now}, "2" }),
			row("deleted", running, ready, func(i *kit.InstanceRow) { i.Deleting = true }),
			row("suspended", provider.StatusSuspended, ready),
			row("ended", provider.StatusFailed),
			row("replaced", provider.StatusFailed, func(i *kit.InstanceRow) { i.Replaced = true }),
		),
		Tasks: rowsOf(
			task("a", func(r *kit.TaskRow) { r.Session = "s" }), task("b", func(r *kit.TaskRow) { r.NotBefore = 3 }),
			task("a", func(r *kit.TaskRow) { r.Name = "other" }),
			task("a", func(r *kit.TaskRow) { r.State, r.Lease.Until = provider.TaskLeased, now+1 }),
			task("a", func(r *kit.TaskRow) { r.State, r.Lease.Until, r.Queue = provider.TaskLeased, now, "p" }),
			task("a", func(r *kit.TaskRow) { r.State = provider.TaskParked }),
			task("a", func(r *kit.TaskRow) { r.NotBefore = now + 1 }),
			task("a", func(r *kit.TaskRow) { r.TimeUp = now }),
			task("suspended"), task("deleted"),
		),
	}
	one, two := provider.Capability{Name: "orc"}, provider.Capability{Name: "orc", CodeVersion: "2"}
	want := provider.StatsResult{
		Instances: map[provider.Status]int64{running: 10, provider.StatusSuspended: 1, provider.StatusFailed: 1}, Blocked: 2, TurnLeases: 1, TaskLeases: 1,
		DeadLetters: 3, Now: now,
		Running: []provider.RunningInstances{{Capability: one, Count: 10}, {Capability: two, Count: 1, Oldest: 1}},
		Turns: []provider.WaitingTurns{
			{Capability: one, Count: 2, Oldest: 7}, {Capability: one, EngineLevel: 2, Count: 1, Oldest: 10}, {Capability: two, Count: 1, Oldest: 10},
		},
		Tasks: []provider.WaitingTasks{
			{Queue: "p", Name: "act", Count: 1, Oldest: 4},
			{Queue: "q", Name: "act", Count: 2, Oldest: 3, InSession: 1},
			{Queue: "q", Name: "other", Count: 1, Oldest: 4},
		},
	}
	got, err := m.Stats(t.Context(), provider.StatsRequest{})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v, want\n%+v; error %v", got, want, err)
	}
	got, err = m.Stats(t.Context(), provider.StatsRequest{Running: true, Most: 4})
	if r := got.Running[0]; err != nil || r.Count != 4 || !r.More || got.Running[1].More {
		t.Errorf("got %+v and error %v, want 4 and more of the first", got.Running, err)
	}
}

func task(name string, edits ...func(*kit.TaskRow)) kit.TaskRow {
	r := kit.TaskRow{Queue: "q", Name: "act", NotBefore: 4}
	r.Key, r.State = key(name), provider.TaskQueued
	for _, edit := range edits {
		edit(&r)
	}
	return r
}

// Pages have the rows in order, whatever the order of the scan, and those whose instance is gone.
func TestInspectOrdersRows(t *testing.T) {
	t.Parallel()
	const rows = 100 // many times the page
	messages, instances := []provider.MessageRow(nil), []kit.InstanceRow(nil)
	for n := range int64(rows) {
		id := n * 37 % rows
		messages = append(messages, provider.MessageRow{Key: key("gone"), Message: provider.Message{ID: id, VisibleAt: provider.Time(id / 10), Payload: []byte{1}}})
		name := fmt.Sprint("i", 100+id)
		instances = append(instances, row(name, provider.StatusRunning, func(i *kit.InstanceRow) { i.Lease.Until, i.Result = now+provider.Time(id)-50, []byte{} }))
	}
	in := kit.Inspector{
		Now: at, Instances: rowsOf(instances...), Messages: rowsOf(messages...), Letters: rowsOf(key("b"), key("a"), key("b")),
		Attributes: rowsOf(key("gone")),
	}
	var ids []int64
	for req := (provider.InspectRequest{Kind: provider.InspectMessages, Max: 7}); len(ids) <= rows; {
		page, err := in.Inspect(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Messages {
			if m.Payload != nil {
				t.Fatal("a message came with its payload")
			}
			ids = append(ids, m.ID)
		}
		if req.Cursor = page.Cursor; req.Cursor == "" {
			break
		}
	}
	if !slices.IsSorted(ids) || len(slices.Compact(ids)) != rows {
		t.Errorf("pages have the messages %v, want 0 to 99", ids)
	}
	of := func(kind provider.InspectKind) provider.InspectResult {
		page, err := in.Inspect(t.Context(), provider.InspectRequest{Kind: kind})
		if err != nil {
			t.Fatal(err)
		}
		return page
	}
	leases := of(provider.InspectTurnLeases).TurnLeases
	if len(leases) != rows || !leases[50].Lease.Over || leases[51].Lease.Over {
		t.Errorf("leases %+v, want 51 of 100 that are over", leases)
	}
	if got := of(provider.InspectDeadLetters).Keys; !slices.Equal(got, []provider.UUID{key("a"), key("b")}) {
		t.Errorf("keys of dead letters %v, want each once", got)
	}
	if got := of(provider.InspectAttributes).Keys; !slices.Equal(got, []provider.UUID{key("gone")}) {
		t.Errorf("keys of attributes %v, want the one whose instance is gone", got)
	}
	if got := of(provider.InspectOutcomes).Keys; len(got) != rows {
		t.Errorf("%d keys of outcomes, want those of the instances", len(got))
	}
}

// below makes an instance a child of an execution.
func below(parent string, execution int64) func(*kit.InstanceRow) {
	return func(i *kit.InstanceRow) { i.Parent = provider.Parent{Key: key(parent), Execution: execution} }
}

func endedAt(end provider.Time) func(*kit.InstanceRow) {
	return func(i *kit.InstanceRow) { i.EndedAt = end }
}

func TestPruneChoosesTrees(t *testing.T) {
	t.Parallel()
	const done = provider.StatusCompleted
	again := func(i *kit.InstanceRow) { i.Execution = 2 }
	in := []kit.InstanceRow{
		row("loose", done, endedAt(7)),
		row("root", done, endedAt(3), again), row("child", done, endedAt(1), below("root", 2)), row("left", done, endedAt(4), below("root", 1)),
		row("first", done, endedAt(2), below("root", 1)), row("under", done, endedAt(6), below("first", 1)),
		row("busy", done), row("worker", provider.StatusRunning, below("busy", 1)),
		row("half", done), row("deleted", done, below("half", 1), func(i *kit.InstanceRow) { i.Deleting = true }),
		row("changed", done, endedAt(1)), row("young", done, endedAt(now-4)),
		row("loop", done, below("pool", 1)), row("pool", done, below("loop", 1)), // only damage makes such
	}
	var removed []string
	p := kit.Pruner{Instances: rowsOf(in...), Now: at, Remove: func(_ context.Context, k, version provider.UUID) (int64, error) {
		for _, i := range in {
			if i.Key == k && i.Version == version {
				removed = append(removed, i.ID)
			}
		}
		if k == key("changed") {
			return 0, fmt.Errorf("changed: %w", provider.ErrConflict)
		}
		return 10, nil
	}}
	prune := func(req provider.PruneRequest) provider.PruneResult {
		removed, req.Age = nil, 5*time.Microsecond
		res, err := p.Prune(t.Context(), req)
		if err != nil {
			t.Error(err)
		}
		return res
	}
	if got := prune(provider.PruneRequest{}); got.Instances != 30 || got.Cursor != "" || strings.Join(removed, " ") != "changed first root loose" {
		t.Errorf("removed %v and got %+v, want 30 instances of first, root and loose", removed, got)
	}
	got := prune(provider.PruneRequest{Max: 1})
	if got.Cursor == "" || strings.Join(removed, " ") != "changed first" {
		t.Errorf("removed %v and got %+v, want first, and more", removed, got)
	}
	if got := prune(provider.PruneRequest{Cursor: got.Cursor}); got.Cursor != "" || strings.Join(removed, " ") != "root loose" {
		t.Errorf("after the cursor it removed %v and got %+v, want root and loose", removed, got)
	}
	if prune(provider.PruneRequest{Spare: []provider.UUID{key("under")}}); strings.Join(removed, " ") != "changed left loose" {
		t.Errorf("with one of their descendants spared it removed %v, want neither first nor root", removed)
	}
	got = prune(provider.PruneRequest{Look: true})
	var trees []string
	for _, tree := range got.Trees {
		trees = append(trees, fmt.Sprintf("%s %d", strings.TrimRight(string(tree.Key[:]), "\x00"), tree.Instances))
	}
	if want := "changed 1, first 2, root 2, left 1, loose 1"; strings.Join(trees, ", ") != want || got.Instances != 7 || removed != nil {
		t.Errorf("it would remove %v, %d together, want %s", trees, got.Instances, want)
	}
}

func TestTrimGoesInOrder(t *testing.T) {
	t.Parallel()
	deleting := func(i *kit.InstanceRow) { i.Deleting = true }
	fifth := func(i *kit.InstanceRow) { i.Execution = 5 }
	var old []kit.ExecutionRow
	for _, name := range []string{"b", "deleted", "a", "gone"} {
		for _, n := range []int64{4, 1, 3, 2} {
			end := provider.Time(n)
			if name == "a" && n == 2 {
				end = now - 1
			}
			old = append(old, kit.ExecutionRow{ExecutionRow: provider.ExecutionRow{Key: key(name), Execution: n}, EndedAt: end})
		}
	}
	var removed []string
	tr := kit.Trimmer{
		Now: at, Executions: rowsOf(old...),
		Instances: rowsOf(row("a", provider.StatusRunning, fifth), row("b", provider.StatusFailed, fifth), row("deleted", provider.StatusFailed, fifth, deleting)),
		Remove: func(_ context.Context, x provider.OldExecution) (bool, error) {
			removed = append(removed, fmt.Sprintf("%c%d", x.Key[0], x.Execution))
			return x.Execution != 2, nil
		},
	}
	for _, c := range []struct {
		req  provider.TrimRequest
		want string
		gone int64
	}{
		{provider.TrimRequest{}, "a1 a2 a3 b1 b2 b3", 4},
		{provider.TrimRequest{Age: 2 * time.Microsecond}, "a1 b1 b2 b3", 3},
		{provider.TrimRequest{Keep: 3}, "a1 b1", 2},
	} {
		removed = nil
		res, err := tr.Trim(t.Context(), c.req)
		if got := strings.Join(removed, " "); err != nil || got != c.want || res.Executions != c.gone || res.Cursor != "" {
			t.Errorf("%+v removed %s and returned %+v and error %v, want %s", c.req, got, res, err, c.want)
		}
	}
	var found []string
	for req := (provider.TrimRequest{Look: true, Max: 4}); ; {
		res, err := tr.Trim(t.Context(), req)
		for _, x := range res.Found {
			found = append(found, fmt.Sprintf("%c%d", x.Key[0], x.Execution))
		}
		if req.Cursor = res.Cursor; req.Cursor == "" || err != nil || len(found) > 6 {
			break
		}
	}
	if got := strings.Join(found, " "); got != "a1 a2 a3 b1 b2 b3" {
		t.Errorf("pages of a look found %s, want each once", got)
	}
}
