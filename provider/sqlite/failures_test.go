package sqlite

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/perdure/perdure/provider"
)

var failedAmong = flag.Int64("failures.instances", 20_000, "how many instances TestHazard160_GroupsAmongMany makes; one in ten has failed")

// failingClose is the commit by which an instance fails.
func failingClose(in provider.Instance, excerpt, group string) provider.CommitTurnRequest {
	return provider.CommitTurnRequest{
		Key: in.Key, Execution: in.Execution, Expected: in.Version, Length: in.HistoryLength, Commit: newToken(), CloseInbox: "test",
		Status: provider.StatusFailed, Result: []byte("error"), Excerpt: []byte(excerpt), FailureGroup: group,
	}
}

// An older release knows no excerpts: it resets a failed instance and lets it fail again with the columns as they were.
func TestHazard158_AnOlderReleaseLeavesNoExcerpt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "failures.db")
	p := openTest(t, path, Options{})
	in := create(t, p, "i", "orc")
	if _, err := p.CommitTurn(t.Context(), failingClose(in, "text", "g")); err != nil {
		t.Fatal(err)
	}
	check := func(excerpt, group string, count int64) {
		t.Helper()
		got, err := p.Get(t.Context(), provider.GetRequest{Key: in.Key})
		if err != nil || string(got.Instance.Excerpt) != excerpt || got.Instance.FailureGroup != group {
			t.Errorf("got %q of group %q, %v, want %q of group %q", got.Instance.Excerpt, got.Instance.FailureGroup, err, excerpt, group)
		}
		list, err := p.List(t.Context(), provider.ListRequest{})
		if err != nil || len(list.Instances) != 1 || string(list.Instances[0].Excerpt) != excerpt || list.Instances[0].FailureGroup != group {
			t.Errorf("the list has %+v, %v, want %q of group %q", list.Instances, err, excerpt, group)
		}
		for _, most := range []int64{0, 10} {
			n, err := p.Count(t.Context(), provider.CountRequest{Filter: provider.Filter{FailureGroup: "g"}, Max: most})
			if err != nil || n.Count != count || !n.Exact {
				t.Errorf("group g counts %+v, %v, want exactly %d", n, err, count)
			}
		}
		groups, err := p.FailureGroups(t.Context(), provider.FailureGroupsRequest{})
		if err != nil || int64(len(groups.Groups)) != count {
			t.Errorf("got the groups %+v, %v, want %d", groups.Groups, err, count)
		}
	}
	check("text", "g", 1)
	execSQL(t, path, `UPDATE perdure_outcome SET result = x'00', sum = NULL`, `UPDATE perdure_instance SET ended_at = ended_at + 5`)
	check("", "", 0)
}

// A close that fails with an excerpt has the statements of one without.
func TestHazard158_NoStatementMore(t *testing.T) {
	p := openTest(t, filepath.Join(t.TempDir(), "failures.db"), Options{})
	n := count(t, p)
	times := map[string]map[int64]int{"": {}, "text": {}} // how often a close took so many statements
	for i := range 50 {                                   // the janitor may run in between, and a close may join its transaction
		for excerpt := range times {
			in := create(t, p, fmt.Sprint(excerpt, i), "orc")
			before := n.Load()
			if _, err := p.CommitTurn(t.Context(), failingClose(in, excerpt, excerpt)); err != nil {
				t.Fatal(err)
			}
			times[excerpt][n.Load()-before]++
		}
	}
	usual := func(times map[int64]int) int64 {
		return slices.MaxFunc(slices.Sorted(maps.Keys(times)), func(a, b int64) int { return cmp.Compare(times[a], times[b]) })
	}
	with, without := usual(times["text"]), usual(times[""])
	if with != without {
		t.Errorf("a close with an excerpt takes %d statements, one without %d", with, without)
	}
}

// Groups are exact, and the newest are found, among many instances.
func TestHazard160_GroupsAmongMany(t *testing.T) {
	p := filled(t, *failedAmong)
	execSQL(t, p.store.path,
		`UPDATE perdure_instance SET status = 4 WHERE status = 3 AND created_at / 1000 % 10 = 0`,
		`INSERT INTO perdure_outcome (key, result, failure_group, excerpt, failed_at)
			SELECT key, zeroblob(500), 'g' || (created_at / 1000 % 30 / 10), zeroblob(256), ended_at FROM perdure_instance WHERE status = 4`)
	all := int64(0)
	for _, group := range []string{"g0", "g1", "g2"} {
		began := time.Now()
		res, err := p.Count(t.Context(), provider.CountRequest{Filter: provider.Filter{FailureGroup: group, Replaced: true}})
		if err != nil || !res.Exact {
			t.Fatalf("got %+v, %v", res, err)
		}
		t.Logf("%d of group %s are counted in %v", res.Count, group, time.Since(began))
		all += res.Count
	}
	failed, err := p.Count(t.Context(), provider.CountRequest{Filter: provider.Filter{Statuses: []provider.Status{provider.StatusFailed}, Replaced: true}})
	if err != nil || failed.Count != all {
		t.Errorf("%d instances failed, %v, and the groups have %d", failed.Count, err, all)
	}
	for _, req := range []provider.FailureGroupsRequest{{}, {}, {Group: "g1"}} {
		began := time.Now()
		res, err := p.FailureGroups(t.Context(), req)
		took := time.Since(began)
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, g := range res.Groups {
			sum += g.Count
		}
		t.Logf("%+v: %d groups of %d instances, AtLeast %v, in %v", req, len(res.Groups), sum, res.AtLeast, took)
		if req.Group == "" && (sum != min(all, provider.MaxGrouped) || res.AtLeast != (all > provider.MaxGrouped)) {
			t.Errorf("the groups have %d instances, AtLeast %v, of %d", sum, res.AtLeast, all)
		}
	}
}
