package validations

import (
	"fmt"
	"strings"

	"github.com/perdure/perdure/provider"
)

// rowUpdatedAt checks that messages and fetches do not change UpdatedAt, and that every new Version does.
func rowUpdatedAt(t *trial) {
	i := t.begin("i")
	t.pass(short)
	t.send(i.Key, text("m"))
	t.fetchOne(named("i"))
	is(t, "UpdatedAt after a message and a lease", t.get(i.Key).UpdatedAt, i.UpdatedAt)
	res := t.commit(next(i, "event"))
	is(t, "UpdatedAt after a commit", t.get(i.Key).UpdatedAt, res.Now)
	t.pass(short)
	got := t.steer(i.Key, provider.SteerSuspend)
	t.checkf(got.UpdatedAt > res.Now, "UpdatedAt is %d, want more than %d", got.UpdatedAt, res.Now)
}

func rowTasks(t *trial) {
	i := t.beginTasks(newTask(7), newTask(3))
	req := next(i)
	req.Tasks = []provider.NewTask{newTask(5)}
	t.commit(req)
	t.fetchTasks(func(r *provider.FetchTasksRequest) { r.Max = 1 })
	t.tasksAre(i.Key, "3 5 7")
	res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key})
	t.ok(err)
	t.checkf(len(res.Tasks) == 0 && len(res.Values) == 0, "got tasks %+v or values without asking for them", res.Tasks)
}

// attributeKinds checks that a value of each kind comes back as given.
func attributeKinds(t *trial) {
	list := []provider.Attribute{
		{Name: "bool", Kind: provider.AttributeBool, Number: 1},
		{Name: "instant", Kind: provider.AttributeInstant, Number: 1 << 60},
		{Name: "int", Kind: provider.AttributeInt, Number: -1 << 62},
		{Name: "text", Kind: provider.AttributeText, Text: "ü"},
	}
	i := t.begin("i", func(r *provider.CommitTurnRequest) { r.Attributes = list })
	t.checkf(fmt.Sprint(i.Attributes) == fmt.Sprint(list), "attributes are %+v, want %+v", i.Attributes, list)
	for _, a := range list {
		checkList(t, provider.Filter{Attributes: []provider.Attribute{a}}, "i")
	}
}

func statsInstances(t *trial) {
	t.steer(t.create("suspended").Key, provider.SteerSuspend)
	t.begin("running")
	for _, s := range []provider.Status{provider.StatusCompleted, provider.StatusFailed, provider.StatusTerminated} {
		req := closing(t.continueAsNew(t.begin(s.String())))
		req.Status = s
		t.commit(req)
	}
	t.block(blockableTurn(t), true)
	checkStats(t, func(s provider.StatsResult) string {
		var counts []string
		for status := provider.StatusRunning; status <= provider.StatusReset; status++ {
			counts = append(counts, fmt.Sprint(s.Instances[status]))
		}
		return fmt.Sprintf("%s blocked %d", strings.Join(counts, " "), s.Blocked)
	}, "2 1 1 1 0 1 0 0 blocked 1")
}

// blockableTurn fetches a turn of a new instance.
func blockableTurn(t *trial) turn {
	t.create("blocked")
	return t.fetchOne()
}

// checkStats waits until the figures are right. They may be some seconds stale.
func checkStats(t *trial, figures func(provider.StatsResult) string, want string) {
	checkStatsOf(t, provider.StatsRequest{}, figures, want)
}

func checkStatsOf(t *trial, req provider.StatsRequest, figures func(provider.StatsResult) string, want string) {
	const patience = 300 // times short
	for n := range patience {
		s, err := t.Stats(t.ctx, req)
		t.ok(err)
		got := figures(s)
		if got == want {
			return
		}
		t.mustf(n < patience-1, "stats are %s, want %s", got, want)
		t.pass(short)
	}
}

// statsCommits checks that a commit counts once, however often it is repeated, and that a refused commit never counts.
func statsCommits(t *trial) {
	i := t.begin("i")
	before := provider.CountersOf(t.store)
	for range 3 {
		req := next(i, "event")
		t.commit(req)
		t.commit(req)
		t.refused(rich(i), provider.ErrConflict)
		i = t.get(i.Key)
	}
	is(t, "turn commits counted", provider.CountersOf(t.store).CommitGroups-before.CommitGroups, 3)
}

func statsTransactions(t *trial) {
	i := t.begin("i")
	before := provider.CountersOf(t.store)
	for range 3 {
		t.send(i.Key, text("m"))
	}
	counted := provider.CountersOf(t.store).Commits - before.Commits
	t.checkf(counted >= 3, "%d transactions were counted, want 3 or more", counted)
}
