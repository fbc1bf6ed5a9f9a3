package validations

import (
	"time"

	"github.com/perdure/perdure/provider"
)

// A chronicle collects instants in the order in which they were read.
type chronicle struct {
	*trial

	last provider.Time
}

// now notes the Now of a result.
func (c *chronicle) now(call string, at provider.Time) {
	c.checkf(at >= c.last, "%s returned Now %d, want at least %d, as an earlier call returned", call, at, c.last)
	c.last = max(c.last, at)
}

// stamped checks an instant that the storage wrote between two results.
func (c *chronicle) stamped(what string, at, since provider.Time) {
	c.checkf(at >= since && at <= c.last, "%s has instant %d, want one from %d to %d", what, at, since, c.last)
}

// clockOfStorage checks that one clock, which never goes back, sets all instants.
func clockOfStorage(t *trial) {
	c := &chronicle{trial: t}
	created, err := t.Create(t.ctx, createRequest("i"))
	t.ok(err)
	c.now("create", created.Now)
	c.stamped("created", created.Instance.CreatedAt, created.Now)
	key := created.Instance.Key
	fetch := fetchRequest()
	turns, err := t.FetchTurns(t.ctx, fetch)
	t.ok(err)
	c.now("fetch turns", turns.Now)
	t.mustf(len(turns.Turns) == 1 && len(turns.Turns[0].Messages) == 1, "got %+v, want one turn with one message", turns.Turns)
	req := commitOf(turn{turns.Turns[0], fetch.Token}, "event")
	req.Tasks = []provider.NewTask{newTask(1)}
	began := c.last
	committed := t.commit(req)
	c.now("commit turn", committed.Now)
	c.stamped("updated", t.get(key).UpdatedAt, began)
	sent := t.send(key, text("m"))
	c.now("send", sent.Now)
	c.stamped("message", t.get(key).ReadyAt, began)
	tasks, err := t.FetchTasks(t.ctx, fetchTasksRequest())
	t.ok(err)
	c.now("fetch tasks", tasks.Now)
	t.mustf(len(tasks.Tasks) == 1, "got %+v, want one task", tasks.Tasks)
	c.stamped("scheduled", tasks.Tasks[0].ScheduledAt, began)
	c.checkf(tasks.Tasks[0].LeaseUntil >= began.Add(long), "the task is leased until %d, want at least %d", tasks.Tasks[0].LeaseUntil, began.Add(long))
	clockOfRest(c, key)
}

func clockOfRest(c *chronicle, key provider.UUID) {
	t := c.trial
	renewed, err := t.RenewTasks(t.ctx, provider.RenewTasksRequest{Lease: long})
	t.ok(err)
	c.now("renew tasks", renewed.Now)
	reported, err := t.ReportTasks(t.ctx, provider.ReportTasksRequest{})
	t.ok(err)
	c.now("report tasks", reported.Now)
	parkedAsk(t, key)
	wanted := fetchAsksRequest()
	wanted.Wait = long
	asks, err := t.FetchAsks(t.ctx, wanted)
	t.ok(err)
	t.mustf(len(asks.Asks) == 1, "got %+v, want one question", asks.Asks)
	c.now("fetch asks", asks.Now)
	began := c.last
	lease := callLease(t, acquire("a"))
	c.now("lease", lease.Now)
	c.checkf(lease.Until >= began.Add(long), "leased until %d, want at least %d", lease.Until, began.Add(long))
	record, err := t.Record(t.ctx, put("k", "v", 0))
	t.ok(err)
	c.now("record", record.Now)
	t.mustf(len(record.Records) == 1, "got %+v, want one record", record.Records)
	c.stamped("record", record.Records[0].UpdatedAt, began)
	steered, err := t.Steer(t.ctx, provider.SteerRequest{Key: key, Action: provider.SteerTerminate, Commit: unique()})
	t.ok(err)
	c.now("steer", steered.Now)
	c.stamped("ended", steered.Instance.EndedAt, began)
	list, err := t.List(t.ctx, provider.ListRequest{})
	t.ok(err)
	c.now("list", list.Now)
	got, err := t.Get(t.ctx, provider.GetRequest{Key: key})
	t.ok(err)
	c.now("get", got.Now)
	letters := t.letters()
	t.mustf(len(letters) == 1, "%d dead letters, want 1", len(letters))
	c.stamped("dead letter", letters[0].At, began)
	stats, err := t.Stats(t.ctx, provider.StatsRequest{})
	t.ok(err)
	c.now("stats", stats.Now)
}

// clockUnit checks that a second of the storage has a million instants and that they count from 1970.
func clockUnit(t *trial) {
	first := t.send(t.begin("i").Key, text("m"))
	off := time.Since(first.Now.Std()).Abs()
	t.checkf(off < 24*time.Hour, "the storage's clock says %s, %v away from this machine's, want less than a day", first.Now.Std(), off)
	began := time.Now()
	t.pass(2 * short)
	passed := time.Since(began)
	second, err := t.Send(t.ctx, provider.SendRequest{ID: "i", Message: text("m")})
	t.ok(err)
	seen := second.Now.Sub(first.Now)
	t.checkf(seen > short && seen < passed+10*time.Second, "%v passed here and %v on the storage's clock, want about the same", passed, seen)
}
