package postgres

import (
	"flag"
	"testing"
	"time"

	"github.com/perdure/perdure/internal/testkit/postgrestest"
	"github.com/perdure/perdure/provider"
)

var failedAmong = flag.Int64("failures.instances", 20_000, "how many instances TestHazard160_GroupsAmongMany makes; one in ten has failed")

// failingClose is the commit by which an instance fails.
func failingClose(in provider.Instance, excerpt, group string) provider.CommitTurnRequest {
	return provider.CommitTurnRequest{
		Key: in.Key, Execution: in.Execution, Expected: in.Version, Length: in.HistoryLength, Commit: unique(), CloseInbox: "test",
		Status: provider.StatusFailed, Result: []byte("error"), Excerpt: []byte(excerpt), FailureGroup: group,
	}
}

// An older release knows no excerpts: it resets a failed instance and lets it fail again with the columns as they were.
func TestHazard158_AnOlderReleaseLeavesNoExcerpt(t *testing.T) {
	url := postgrestest.URL(t)
	p := opened(t, url, Options{Schema: postgrestest.Schema(t, url)})
	other := opened(t, url, Options{Schema: p.db.opts.Schema}) // with caches of its own
	in := create(t, p, "i")
	if _, err := p.CommitTurn(t.Context(), failingClose(in, "text", "g")); err != nil {
		t.Fatal(err)
	}
	check := func(p *Provider, excerpt, group string, count int64) {
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
	for _, p := range []*Provider{p, other} {
		check(p, "text", "g", 1)
	}
	exec(t, other, `UPDATE perdure.outcome SET result = ''`)
	exec(t, other, `UPDATE perdure.instance SET ended_at = ended_at + 5`)
	for _, p := range []*Provider{p, other} {
		check(p, "", "", 0)
	}
}

// A close that fails with an excerpt has the statements of one without.
func TestHazard158_NoStatementMore(t *testing.T) {
	p, n := withCount(t, postgrestest.URL(t), 1)
	fewest := map[string]int64{"": 1 << 30, "text": 1 << 30}
	for range 10 { // background work may add statements
		for excerpt := range fewest {
			_, c := step(t, p)
			c.Status, c.Result, c.Excerpt, c.FailureGroup = provider.StatusFailed, []byte("error"), []byte(excerpt), excerpt
			before := n.Load()
			commit(t, p, c)
			fewest[excerpt] = min(fewest[excerpt], n.Load()-before)
		}
	}
	if fewest["text"] != fewest[""] {
		t.Errorf("a close with an excerpt takes %d statements, one without %d", fewest["text"], fewest[""])
	}
}

// Groups are exact, and the newest are found, among many instances.
func TestHazard160_GroupsAmongMany(t *testing.T) {
	p := plansOnce(t)
	fill(t, p, *failedAmong)
	exec(t, p, `UPDATE perdure.instance SET status = 4 WHERE status = 3 AND created_at / 1000 % 10 = 0`)
	exec(t, p, `INSERT INTO perdure.outcome (key, result, failure_group, excerpt, failed_at) SELECT key, repeat('x', 500)::bytea,
		'g' || (created_at / 1000 % 30 / 10), repeat('e', 256)::bytea, ended_at FROM perdure.instance WHERE status = 4`)
	exec(t, p, `VACUUM ANALYZE perdure.instance`)
	exec(t, p, `VACUUM ANALYZE perdure.outcome`)
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
		before, began := readRows(t, p), time.Now()
		res, err := p.FailureGroups(t.Context(), req)
		took, rows := time.Since(began), int64(0)
		for name, n := range readRows(t, p) {
			rows += n - before[name]
		}
		// An index, outcomes, instances and kinds. The store's background work reads a few rows, too.
		if most := int64(4*(provider.MaxGrouped+1) + 100); rows > most {
			t.Errorf("%+v: the groups read %d rows, want at most %d", req, rows, most)
		}
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
