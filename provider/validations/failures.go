package validations

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

func lackingFailureGroups(p provider.Provider) string {
	return undeclared(provider.FeaturesOf(p).FailureGroups, "FailureGroups")
}

// failureCases checks an optional feature. The suite skips the cases of a provider without it.
func failureCases() []testCase {
	const (
		stores  = "It stores CommitTurnRequest.Excerpt and FailureGroup, returns them in each Instance, applies Filter.FailureGroup"
		excerpt = "Instance.Excerpt: of a failed one; empty if it has none, as of what an older release closed"
		only    = "Filter.FailureGroup: Features.FailureGroups: only those that failed with this group"
		groups  = "FailureGroups returns the groups of the newest failed instances, by the end of the newest instance in each, newest first."
		looks   = "It looks at [MaxGrouped] instances at most, of all names."
		counts  = "Instances that another one has replaced count; those without a group do not."
		one     = "FailureGroupsRequest.Group: only this group; FailureGroup.Texts then has its different excerpts"
		most    = "FailureGroupsRequest.Texts: with Group: at most this many different excerpts, 1 to MaxGrouped; 0: MaxGroupTexts"
	)
	return needs(lackingFailureGroups, []testCase{
		{name: "stored", run: failureStored, rule: stores},
		{name: "stored-anywhere", run: failureSeen, across: true, rule: stores},
		{name: "limit", run: failureLimit, rule: "MaxExcerpt: bytes of an excerpt"},
		{name: "none", run: failureNone, rule: excerpt},
		{name: "reset", run: failureReset, rule: excerpt},
		{name: "moved", run: failureMoved, rule: excerpt, lacks: lacking[provider.Mover]},
		{name: "filter", run: failureFilter, rule: only, lacks: lacking[provider.Lister]},
		{name: "groups", run: failureGroups, rule: groups},
		{name: "groups-replaced", run: failureReplaced, rule: counts},
		{name: "groups-removed", run: failureRemoved, rule: groups, lacks: lacking[provider.Cleaner]},
		{name: "groups-at-most", run: failureMany, slow: true, rule: looks},
		{name: "groups-versions", run: failureVersions, rule: "FailureGroup.Versions: the code versions of its newest instances, sorted, at most MaxGroupTexts"},
		{name: "one-group", run: failureTexts, rule: one},
		{name: "one-group-texts", run: failureManyTexts, rule: most},
		{name: "ended-after", run: failureSince, rule: "FailureGroupsRequest.EndedAfter: inclusive"},
	})
}

// failing prepares the commit by which an instance fails with a group.
func failing(i provider.Instance, excerpt, group string) provider.CommitTurnRequest {
	req := next(i, "over")
	req.Status, req.Result, req.Excerpt, req.FailureGroup = provider.StatusFailed, []byte("error"), []byte(excerpt), group
	return req
}

// fail begins an instance and lets it fail.
func (t *trial) fail(id, excerpt, group string) provider.Instance {
	i := t.begin(id)
	t.commit(failing(i, excerpt, group))
	return t.get(i.Key)
}

// says checks what an instance says of its failure.
func says(t *trial, what string, i provider.Instance, excerpt, group string) {
	t.checkf(string(i.Excerpt) == excerpt && i.FailureGroup == group, "%s has the excerpt %.20q of group %q, want %.20q of group %q",
		what, i.Excerpt, i.FailureGroup, excerpt, group)
}

func failureGroupsOf(t *trial, req provider.FailureGroupsRequest) provider.FailureGroupsResult {
	res, err := t.FailureGroups(t.ctx, req)
	t.ok(err)
	return res
}

// groupsAre checks the groups and counts of a request, as "group:count".
func groupsAre(t *trial, req provider.FailureGroupsRequest, want string) []provider.FailureGroup {
	res := failureGroupsOf(t, req)
	got := make([]string, 0, len(res.Groups))
	for _, g := range res.Groups {
		got = append(got, fmt.Sprintf("%s:%d", g.Group, g.Count))
	}
	t.checkf(strings.Join(got, " ") == want && !res.AtLeast, "%+v: got %v, AtLeast %v, want exactly %q", req, got, res.AtLeast, want)
	t.mustf(len(res.Groups) == len(strings.Fields(want)), "%+v: got %d groups", req, len(res.Groups))
	return res.Groups
}

func failureStored(t *trial) {
	excerpt := "\x00\xff" + strings.Repeat("x", provider.MaxExcerpt-2)
	i := t.begin("i")
	wait := parked(t, func() provider.Instance {
		res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WaitEnded: true, Wait: long})
		t.ok(err)
		return res.Instance
	})
	req := failing(i, excerpt, "g")
	t.commit(req)
	says(t, "the instance that a call waited for", wait(), excerpt, "g")
	t.commit(req) // a repeat
	says(t, "the stored instance", t.get(i.Key), excerpt, "g")
	says(t, "the instance under its ID", t.byID("i"), excerpt, "g")
	again := createRequest("i")
	again.Policy = provider.IDUseExisting
	res, err := t.Create(t.ctx, again)
	t.ok(err)
	says(t, "the existing instance", res.Instance, excerpt, "g")
	mine := failing(t.begin("mine"), "mine", "g")
	t.commit(mine)
	mine.Excerpt[0] = 'M'
	says(t, "an instance whose request was changed later", t.get(mine.Key), "mine", "g")
	if lacking[provider.Lister](t.store) != "" {
		return
	}
	for _, omit := range [][]provider.ListField{nil, {provider.ListCustomStatus, provider.ListAttributes, provider.ListBlockedMessage}} {
		list, err := t.List(t.ctx, provider.ListRequest{Filter: provider.Filter{IDPrefix: "i"}, Omit: omit})
		t.ok(err)
		t.mustf(len(list.Instances) == 1, "got %d instances, want 1", len(list.Instances))
		says(t, "the listed instance", list.Instances[0], excerpt, "g")
	}
	if lacking[provider.Inspector](t.store) == "" {
		says(t, "the row of the instance", inspect(t, provider.InspectInstances, of(i.Key)).Instances[0], excerpt, "g")
	}
}

// failureSeen checks that all handles see one failure, and not an earlier one.
func failureSeen(t *trial) {
	i := t.begin("i")
	for n, p := range append(slices.Clone(t.others()), t.others()...) {
		for _, other := range t.others() {
			says(t, "a running instance", failureOf(t, other, i.Key), "", "")
		}
		excerpt, group := fmt.Sprint("e", n), fmt.Sprint("g", n)
		if n == 1 {
			excerpt, group = "", ""
		}
		_, err := p.CommitTurn(t.ctx, failing(i, excerpt, group))
		t.ok(err)
		for _, other := range t.others() {
			says(t, "a failed instance", failureOf(t, other, i.Key), excerpt, group)
		}
		_, err = p.Steer(t.ctx, provider.SteerRequest{Key: i.Key, Action: provider.SteerReset, Commit: unique(), Events: [][]byte{[]byte("again")}})
		t.ok(err)
		i = t.get(i.Key)
	}
}

func failureOf(t *trial, p *provider.Full, key provider.UUID) provider.Instance {
	res, err := p.Get(t.ctx, provider.GetRequest{Key: key})
	t.ok(err)
	return res.Instance
}

func failureLimit(t *trial) {
	i := t.begin("i")
	t.unchanged(i.Key, func() {
		_, err := t.CommitTurn(t.ctx, failing(i, strings.Repeat("x", provider.MaxExcerpt+1), "g"))
		t.want(err, provider.ErrTooLarge)
		_, err = t.CommitTurn(t.ctx, failing(i, "e", "g\x00"))
		t.want(err, provider.ErrInvalid)
		for _, status := range []provider.Status{provider.StatusRunning, provider.StatusCompleted, provider.StatusCancelled, provider.StatusTerminated} {
			req := next(i)
			req.Status, req.Excerpt = status, []byte("e")
			_, err := t.CommitTurn(t.ctx, req)
			t.want(err, provider.ErrInvalid)
			req.Excerpt, req.FailureGroup = nil, "g"
			_, err = t.CommitTurn(t.ctx, req)
			t.want(err, provider.ErrInvalid)
		}
	})
}

func failureNone(t *trial) {
	says(t, "a running instance", t.begin("running"), "", "")
	says(t, "a completed instance", t.end(t.begin("completed")), "", "")
	bare := next(t.begin("bare"))
	bare.Status, bare.Result = provider.StatusFailed, []byte("error")
	t.commit(bare)
	says(t, "an instance that failed without both", t.get(bare.Key), "", "")
	silent := next(t.begin("silent"))
	silent.Status, silent.Excerpt, silent.FailureGroup = provider.StatusFailed, []byte("e"), "g"
	t.commit(silent)
	got := t.get(silent.Key)
	says(t, "an instance that failed without a result", got, "e", "g")
	t.checkf(got.Result == nil, "got the result %q, want none", got.Result)
	says(t, "an instance without a group", t.fail("loose", "e", ""), "e", "")
	says(t, "an instance without an excerpt", t.fail("short", "", "g"), "", "g")
	i := t.begin("terminated")
	says(t, "a terminated instance", t.steer(i.Key, provider.SteerTerminate), "", "")
	groupsAre(t, provider.FailureGroupsRequest{}, "g:2")
}

func failureReset(t *trial) {
	i := t.fail("i", "e", "g")
	says(t, "the result of a reset", t.steer(i.Key, provider.SteerReset, resetTo("again")), "", "")
	again := t.get(i.Key)
	says(t, "an instance after a reset", again, "", "")
	groupsAre(t, provider.FailureGroupsRequest{}, "")
	bare := next(again)
	bare.Status, bare.Result = provider.StatusFailed, []byte("error")
	t.commit(bare)
	says(t, "an instance that failed again without both", t.get(i.Key), "", "")
	groupsAre(t, provider.FailureGroupsRequest{}, "")
	t.steer(i.Key, provider.SteerReset, resetTo("again"))
	t.commit(failing(t.get(i.Key), "f", "h"))
	says(t, "an instance that failed a third time", t.get(i.Key), "f", "h")
	groupsAre(t, provider.FailureGroupsRequest{}, "h:1")
	t.steer(i.Key, provider.SteerReset, resetTo("again"))
	says(t, "an instance that completed", t.end(t.get(i.Key)), "", "")
	groupsAre(t, provider.FailureGroupsRequest{}, "")
	if lacking[provider.Opener](t.store) != "" {
		return
	}
	j := t.fail("j", "e", "g")
	fork := t.fork(forkOf("fork", prefix("started")))
	says(t, "a fork", fork, "", "")
	says(t, "the result of a reset from a prefix", t.reset(resetOf(j, prefix("started"))), "", "")
	says(t, "an instance after a reset from a prefix", t.get(j.Key), "", "")
}

func failureMoved(t *trial) {
	i := t.fail("i", "e", "g")
	l := t.away(i.Key, 0)
	groupsAre(t, provider.FailureGroupsRequest{}, "")
	says(t, "the instance that goes", l.pages[0].Parcel.Head.Instance, "e", "g")
	for n := range l.pages {
		t.imports(l.page(n))
	}
	groupsAre(t, provider.FailureGroupsRequest{}, "") // it is not here yet
	t.sealed(t.sealing(i.Key, l.page(0).Transfer, provider.SealHeld))
	says(t, "the instance that came", t.get(i.Key), "e", "g")
	groupsAre(t, provider.FailureGroupsRequest{}, "g:1")

	bad := l.page(0, func(r *provider.ImportRequest) {
		head := *r.Parcel.Head
		head.Instance.Excerpt = bytes.Repeat([]byte("x"), provider.MaxExcerpt+1)
		r.Parcel.Head = &head
	})
	_, err := t.mover("Import").Import(t.ctx, bad)
	t.want(err, provider.ErrTooLarge)
	bad.Parcel.Head.Instance.Excerpt, bad.Parcel.Head.Instance.Status = []byte("e"), provider.StatusCompleted
	_, err = t.mover("Import").Import(t.ctx, bad)
	t.want(err, provider.ErrInvalid)
}

func failureFilter(t *trial) {
	t.begin("running")
	t.end(t.begin("completed"))
	t.fail("a1", "e", "a")
	t.fail("a2", "f", "a")
	t.fail("b", "e", "b")
	t.fail("none", "e", "")
	was := t.fail("was", "e", "a")
	t.steer(was.Key, provider.SteerReset, resetTo("again"))
	check := func(f provider.Filter, want string) {
		checkList(t, f, want)
		for _, most := range []int64{0, 1000} {
			res, err := t.Count(t.ctx, provider.CountRequest{Filter: f, Max: most})
			t.ok(err)
			t.checkf(res.Exact && res.Count == int64(len(strings.Fields(want))), "%+v counts %+v, want exactly %q", f, res, want)
		}
	}
	check(provider.Filter{FailureGroup: "a"}, "a1 a2")
	check(provider.Filter{FailureGroup: "b"}, "b")
	check(provider.Filter{FailureGroup: "c"}, "")
	check(provider.Filter{FailureGroup: "a", Statuses: []provider.Status{provider.StatusFailed, provider.StatusRunning}}, "a1 a2")
	check(provider.Filter{FailureGroup: "a", Statuses: []provider.Status{provider.StatusRunning}}, "")
	check(provider.Filter{FailureGroup: "a", Name: "setup-a2"}, "a2")
	check(provider.Filter{FailureGroup: "a", IDPrefix: "a1"}, "a1")
	check(provider.Filter{FailureGroup: "a", EndedAfter: 1}, "a1 a2")
	replacing := createRequest("a1")
	replacing.Policy = provider.IDReplaceEnded
	_, err := t.Create(t.ctx, replacing)
	t.ok(err)
	check(provider.Filter{FailureGroup: "a"}, "a2")
	check(provider.Filter{FailureGroup: "a", Replaced: true}, "a1 a2")
}

func failureGroups(t *trial) {
	groupsAre(t, provider.FailureGroupsRequest{}, "")
	t.end(t.begin("completed"))
	first := t.fail("a1", "old", "a")
	t.pass(blink)
	b := t.fail("b", "e", "b")
	t.pass(blink)
	last := t.fail("a2", "new", "a")
	list := groupsAre(t, provider.FailureGroupsRequest{}, "a:2 b:1")
	g := list[0]
	t.checkf(g.Newest == last.Key && g.First == first.EndedAt && g.Last == last.EndedAt && g.Name == last.Name && string(g.Excerpt) == "new",
		"got %+v, want that of %+v, first at %d", g, last, first.EndedAt)
	t.checkf(g.Texts == nil, "got texts without a Group: %v", g.Texts)
	t.checkf(list[1].First == b.EndedAt && list[1].Last == b.EndedAt, "got %+v, want one that ended at %d", list[1], b.EndedAt)
	groupsAre(t, provider.FailureGroupsRequest{Max: 1}, "a:2")
	groupsAre(t, provider.FailureGroupsRequest{Name: b.Name}, "b:1")
	groupsAre(t, provider.FailureGroupsRequest{Name: first.Name}, "a:1")
	res := failureGroupsOf(t, provider.FailureGroupsRequest{})
	t.checkf(res.Now >= last.EndedAt, "got Now %d, want at least %d", res.Now, last.EndedAt)
}

func failureReplaced(t *trial) {
	t.fail("i", "e", "g")
	t.fail("none", "e", "")
	req := createRequest("i")
	req.Policy = provider.IDReplaceEnded
	_, err := t.Create(t.ctx, req)
	t.ok(err)
	groupsAre(t, provider.FailureGroupsRequest{}, "g:1")
}

func failureRemoved(t *trial) {
	i := t.fail("i", "e", "g")
	t.fail("j", "e", "g")
	t.remove(i.Key, false)
	groupsAre(t, provider.FailureGroupsRequest{}, "g:1")
	is(t, "the pruned instances", prune(t, provider.PruneRequest{}), 1)
	groupsAre(t, provider.FailureGroupsRequest{}, "")
}

func failureMany(t *trial) {
	oldest := t.fail("oldest", "e", "old")
	t.pass(blink)
	const callers = 20
	t.parallel(callers, func(n int) {
		for m := n; m < provider.MaxGrouped-1; m += callers {
			i := t.create(fmt.Sprint("i", m))
			req := next(i)
			req.CloseInbox, req.Status, req.FailureGroup = "test", provider.StatusFailed, "new"
			t.commit(req)
		}
	})
	groupsAre(t, provider.FailureGroupsRequest{}, fmt.Sprintf("new:%d old:1", provider.MaxGrouped-1))
	t.fail("newest", "e", "new")
	for _, req := range []provider.FailureGroupsRequest{{}, {Name: oldest.Name}} {
		res := failureGroupsOf(t, req)
		want := 1
		if req.Name != "" {
			want = 0
		}
		t.checkf(res.AtLeast && len(res.Groups) == want, "%+v: got %+v, want %d groups and AtLeast", req, res, want)
	}
	groupsAre(t, provider.FailureGroupsRequest{Group: "old"}, "old:1")
	res, err := t.Count(t.ctx, provider.CountRequest{Filter: provider.Filter{FailureGroup: "new"}})
	t.ok(err)
	t.checkf(res.Exact && res.Count == provider.MaxGrouped, "the count is %+v, want exactly %d", res, provider.MaxGrouped)
}

func failureVersions(t *trial) {
	for n := range provider.MaxGroupTexts + 1 {
		id := fmt.Sprint("i", n)
		i := t.create(id, func(r *provider.CreateRequest) { r.CodeVersion = fmt.Sprintf("v%02d", n) })
		req := failing(i, "e", "g")
		req.CloseInbox = "test"
		t.commit(req)
		t.pass(blink)
	}
	got := groupsAre(t, provider.FailureGroupsRequest{}, fmt.Sprint("g:", provider.MaxGroupTexts+1))[0].Versions
	t.checkf(strings.Join(got, " ") == "v01 v02 v03 v04 v05 v06 v07 v08 v09 v10", "got the versions %v, want v01 to v10", got)
}

func failureTexts(t *trial) {
	t.fail("other", "other", "h")
	for n := range provider.MaxGroupTexts + 1 {
		t.fail(fmt.Sprint("i", n), fmt.Sprintf("text %02d", n), "g")
	}
	t.fail("twice", "text 10", "g")
	g := groupsAre(t, provider.FailureGroupsRequest{Group: "g"}, fmt.Sprint("g:", provider.MaxGroupTexts+2))[0]
	t.mustf(len(g.Texts) == provider.MaxGroupTexts, "got %d texts, want %d", len(g.Texts), provider.MaxGroupTexts)
	first := g.Texts[0]
	t.checkf(string(first.Excerpt) == "text 10" && first.Count == 2, "got %q %d times first, want \"text 10\" twice", first.Excerpt, first.Count)
	seen := map[string]bool{}
	for _, text := range g.Texts {
		seen[string(text.Excerpt)] = true
	}
	is(t, "different texts", len(seen), provider.MaxGroupTexts)
	groupsAre(t, provider.FailureGroupsRequest{Group: "none"}, "")
}

func failureManyTexts(t *trial) {
	for n := range provider.MaxGroupTexts + 2 {
		t.fail(fmt.Sprint("i", n), fmt.Sprintf("text %02d", n), "g")
	}
	for most, want := range map[int]int{1: 1, provider.MaxGroupTexts + 1: provider.MaxGroupTexts + 1, provider.MaxGrouped: provider.MaxGroupTexts + 2} {
		g := groupsAre(t, provider.FailureGroupsRequest{Group: "g", Texts: most}, fmt.Sprint("g:", provider.MaxGroupTexts+2))[0]
		is(t, fmt.Sprint("texts of at most ", most), len(g.Texts), want)
	}
	g := groupsAre(t, provider.FailureGroupsRequest{Texts: 1}, fmt.Sprint("g:", provider.MaxGroupTexts+2))[0]
	is(t, "texts without a Group", len(g.Texts), 0)
	for bad, want := range map[int]error{-1: provider.ErrInvalid, provider.MaxGrouped + 1: provider.ErrTooLarge} {
		_, err := t.FailureGroups(t.ctx, provider.FailureGroupsRequest{Group: "g", Texts: bad})
		t.want(err, want)
	}
}

func failureSince(t *trial) {
	a := t.fail("a", "e", "a")
	t.pass(blink)
	b := t.fail("b", "e", "b")
	t.mustf(a.EndedAt < b.EndedAt, "both ended at %d", a.EndedAt)
	groupsAre(t, provider.FailureGroupsRequest{EndedAfter: a.EndedAt}, "b:1 a:1")
	groupsAre(t, provider.FailureGroupsRequest{EndedAfter: a.EndedAt + 1}, "b:1")
	groupsAre(t, provider.FailureGroupsRequest{EndedAfter: b.EndedAt + 1}, "")
	groupsAre(t, provider.FailureGroupsRequest{EndedAfter: b.EndedAt, Group: "a"}, "")
}
