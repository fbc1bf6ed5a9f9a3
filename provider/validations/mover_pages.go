package validations

import (
	"fmt"
	"slices"
	"time"

	"github.com/perdure/perdure/provider"
)

// carryCases checks Export and Import.
func carryCases() []testCase {
	const (
		same   = "Freed, it is the instance that was exported: it has the same events, messages, times, tokens and request IDs, in the same order."
		anew   = "A first page begins anew while the instance is arriving."
		repeat = "A page that was stored before changes nothing."
		inUse  = "A key or ID in use is refused with an [*ExistsError]."
	)
	return needs(lacking[provider.Mover], needs(lacking[provider.Cleaner], []testCase{
		{name: "export-only-closed", run: exportRefused, rule: "It returns [ErrConflict] unless the instance is closed under Transfer, or has ended and is free."},
		{name: "export-changes-nothing", run: exportChangesNothing, rule: "Export changes nothing."},
		{name: "export-pages", run: exportPages, rule: "A page ends once its payloads reach MaxBytes."},
		{name: "carry", run: carryAll, rule: same, lacks: lacking[provider.Redriver]},
		{name: "carry-continues", run: carryContinues, rule: same},
		{name: "carry-executions", run: carryExecutions, rule: same, lacks: lacking[provider.Trimmer]},
		{name: "carry-tasks", run: carryTasks, rule: same},
		{name: "carry-ended", run: carryEnded, rule: "If it had ended before its move, it is free."},
		{name: "carry-remembers", run: carryRemembers, rule: same},
		{name: "carry-a-family", run: carryFamily, rule: same},
		{name: "import-arrives", run: importArrives, rule: "The first page makes the instance, which is then arriving and counts as closed."},
		{name: "import-repeated", run: importRepeats, rule: repeat},
		{name: "import-again", run: importAgain, rule: anew},
		{name: "import-a-gap", run: importGap, rule: "A page that does not follow the one before returns [ErrConflict]."},
		{
			name: "import-done", run: importDone,
			rule: "Once all pages are stored, every page of that Transfer changes nothing and returns Done, even after the instance was freed.",
		},
		{name: "import-in-use", run: importInUse, rule: inUse},
		{name: "import-replaces", run: importReplaces, rule: "With Replace, an instance that was sealed here and is closed is replaced."},
		{name: "import-early", run: importEarly, rule: "If At is later than the storage's time, the call returns [ErrClockBehind]."},
	}))
}

func exportRefused(t *trial) {
	i := t.begin("i")
	transfer := unique()
	export := func(key, transfer provider.UUID) error {
		_, err := t.mover("Export").Export(t.ctx, provider.ExportRequest{Key: key, Transfer: transfer})
		return err
	}
	t.want(export(newKey("none"), transfer), provider.ErrNotFound)
	t.want(export(i.Key, provider.UUID{}), provider.ErrConflict)
	t.seal(i.Key, transfer, provider.SealHeld)
	t.want(export(i.Key, transfer), provider.ErrConflict)
	t.seal(i.Key, transfer, provider.SealClosed)
	t.want(export(i.Key, unique()), provider.ErrConflict)
	t.ok(export(i.Key, transfer))
	t.ok(export(t.end(t.begin("ended")).Key, provider.UUID{}))
}

// laden makes an instance with something of each kind.
func laden(t *trial) provider.Instance {
	parent := t.begin("parent")
	req := next(parent)
	start := startOf(parent, "i")
	start.Create.Name = "setup-i"
	start.Create.Listener = &provider.Listener{Key: parent.Key, Message: text("told")}
	req.Starts = []provider.Start{start}
	t.commit(req)
	i := t.byID("i")
	t.commit(commitOf(t.fetchOne(named("i")), "started"))
	i = t.continueAsNew(t.get(i.Key))
	req = next(i, "a", "b")
	req.Tasks = []provider.NewTask{newTask(1), newTask(2), newTask(3)}
	req.Tasks[1].Priority, req.Tasks[1].FairnessKey, req.Tasks[1].NotBefore = 2, "f", long
	req.Tasks[2].Session, req.Tasks[2].LimitKey, req.Tasks[2].Deadline, req.Tasks[2].StartBy = "s", "l", 2*long, long
	req.Timers = []provider.Timer{{EventID: 2, Kind: 3, Due: i.CreatedAt.Add(long), Payload: []byte("timer")}}
	req.CustomStatus = []byte("status")
	req.Attributes = []provider.Attribute{{Name: "a", Kind: provider.AttributeInt, Number: 1}, {Name: "b", Kind: provider.AttributeText, Text: "t"}}
	req.Values = []provider.KeyValue{{Key: "v", Value: []byte("value")}, {Key: "w", Value: []byte("more")}}
	t.commit(req)
	t.send(i.Key, text("m1"))
	m := text("m2")
	m.Delay = long
	t.send(i.Key, m)
	return t.get(i.Key)
}

func exportChangesNothing(t *trial) {
	i := laden(t)
	transfer := t.closed(i.Key)
	t.wholeUnchanged("Export", func() { t.export(i.Key, transfer, 1) })
}

func exportPages(t *trial) {
	i := laden(t)
	transfer := t.closed(i.Key)
	large, small := t.export(i.Key, transfer, 1<<20), t.export(i.Key, transfer, 1)
	is(t, "the pages of a large size", len(large.pages), 1)
	t.checkf(len(small.pages) > 8, "an export by the byte has %d pages, want more than 8", len(small.pages))
	var all provider.Parcel
	for n, page := range small.pages {
		p := page.Parcel
		t.checkf((p.Head != nil) == (n == 0), "page %d has the head %+v", n, p.Head)
		all.Head = large.pages[0].Parcel.Head
		all.History, all.Messages = append(all.History, p.History...), append(all.Messages, p.Messages...)
		all.Tasks, all.Values, all.Letters = append(all.Tasks, p.Tasks...), append(all.Values, p.Values...), append(all.Letters, p.Letters...)
	}
	is(t, "all small pages", lineOf("parcel", all).full, lineOf("parcel", large.pages[0].Parcel).full)
}

// carryAll compares everything that can be read before and after.
func carryAll(t *trial) {
	i := laden(t)
	u := t.fetchOne(named("i"))
	t.block(u, true)
	i = t.get(i.Key)
	msg := t.send(i.Key, text("dead"))
	t.steer(i.Key, provider.SteerDrop, func(r *provider.SteerRequest) { r.MessageID, r.Reason = msg.MessageID, "unwanted" })
	portrait := func() (p portrait) {
		res, err := t.Get(t.ctx, provider.GetRequest{Key: i.Key, WithTasks: true, WithValues: true})
		t.ok(err)
		in := res.Instance
		in.Version, in.UpdatedAt = i.Key, 0
		p = append(p, lineOf("instance", in), lineOf("tasks", res.Tasks), lineOf("values", res.Values))
		for n := range in.Execution {
			p = append(p, lineOf(fmt.Sprint("history ", n+1), t.history(i.Key, n+1)))
		}
		for _, l := range t.lettersOf(i.Key) {
			l.ID = 0
			p = append(p, lineOf("letter", l))
		}
		return p
	}
	before := portrait()
	t.arrive(t.away(i.Key, 3))
	t.differs("the move", before, portrait())
}

func carryContinues(t *trial) {
	i := t.begin("i", func(r *provider.CommitTurnRequest) {
		r.Timers = []provider.Timer{{EventID: 1, Kind: 3, Due: 1, Payload: []byte("timer")}}
	})
	t.send(i.Key, text("m1"))
	t.send(i.Key, text("m2"))
	i = t.get(i.Key)
	l := t.away(i.Key, 0)
	got := t.arrive(l)
	is(t, "ReadyAt", got.ReadyAt, i.ReadyAt)
	u := t.fetchOne(named("i"))
	is(t, "the messages", u.payloads(), "timer m1 m2")
	last := u.Messages[len(u.Messages)-1].ID
	is(t, "the message IDs", fmt.Sprint(ids(u.Messages)), fmt.Sprint(ids(slices.Concat(parcels(l)...))))
	t.commit(commitOf(u, "went on"))
	res := t.send(i.Key, text("m3"))
	t.checkf(res.MessageID > last, "the next message has ID %d, want more than %d", res.MessageID, last)
	t.end(t.get(i.Key))
}

// carryExecutions checks that Trim sees the same ages on both sides of a move.
func carryExecutions(t *trial) {
	i := t.renewed("i", 2)
	l := t.away(i.Key, 0)
	left := l.pages[0].Parcel.Head.Executions
	t.mustf(len(left) == 2, "the export has %d executions that are over, want 2", len(left))
	t.checkf(left[0].EndedAt >= i.CreatedAt && left[0].EndedAt <= left[1].EndedAt && left[1].EndedAt <= i.UpdatedAt,
		"the executions ended at %d and %d, want them in order, from %d to %d", left[0].EndedAt, left[1].EndedAt, i.CreatedAt, i.UpdatedAt)
	t.arrive(l)
	again := t.away(i.Key, 0)
	is(t, "the executions after the move", fmt.Sprint(again.pages[0].Parcel.Head.Executions), fmt.Sprint(left))
}

func ids(list []provider.Message) (ids []int64) {
	for _, m := range list {
		ids = append(ids, m.ID)
	}
	return ids
}

func parcels(l carriage) (list [][]provider.Message) {
	for _, p := range l.pages {
		list = append(list, p.Parcel.Messages)
	}
	return list
}

func carryTasks(t *trial) {
	tasks := []provider.NewTask{newTask(1), newTask(2), newTask(3), newTask(4)}
	tasks[3].StartBy = time.Millisecond
	i := t.beginTasks(tasks...)
	one := func(r *provider.FetchTasksRequest) { r.Max = 1 }
	parked, failed := t.fetchTask(one), t.fetchTask(one)
	t.ok(t.report(parked, provider.TaskPark, func(r *provider.TaskReport) { r.Details = []byte("half") }).Err)
	t.ok(t.report(failed, provider.TaskRetry, func(r *provider.TaskReport) { r.Failure = []byte("boom") }).Err)
	t.pass(short)
	t.arrive(t.away(i.Key, 0))
	t.ok(t.report(parked, provider.TaskComplete).Err)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "result")
	list := t.fetchTasks(expired)
	t.mustf(len(list) == 3, "got %d tasks, want 3", len(list))
	t.checkf(list[0].EventID == 4 && list[0].PastDeadline, "the first task is %+v, want the one past its StartBy", list[0])
	for _, task := range list[1:] {
		switch task.EventID {
		case 2:
			t.checkf(task.Attempt == 2 && string(task.Failure) == "boom", "got %+v, want the second attempt after boom", task)
		default:
			t.checkf(task.EventID == 3 && task.Attempt == 1 && string(task.Payload) == "task3", "got %+v, want the first attempt of 3", task)
		}
	}
}

func carryEnded(t *trial) {
	i := t.continueAsNew(t.begin("i"))
	i = t.end(i)
	before := t.get(i.Key)
	before.Version = unique()
	l := t.away(i.Key, 0)
	got := t.arrive(l)
	before.Version = got.Version
	is(t, "the ended instance", lineOf("i", got).full, lineOf("i", before).full)
	t.steer(i.Key, provider.SteerReset, func(r *provider.SteerRequest) { r.Events = [][]byte{[]byte("again")} })
	t.fetchOne(named("i"))
}

func carryRemembers(t *trial) {
	i := t.create("i", func(r *provider.CreateRequest) { r.RequestID = "made" })
	join := createRequest("i")
	join.Policy, join.RequestID, join.Messages = provider.IDUseExisting, "joined", []provider.NewMessage{text("joined")}
	_, err := t.Create(t.ctx, join)
	t.ok(err)
	suspend := func(r *provider.SteerRequest) { r.RequestID = "act" }
	t.steer(i.Key, provider.SteerSuspend, suspend)
	t.steer(i.Key, provider.SteerResume)
	l := t.away(i.Key, 0)
	t.arrive(l)
	t.unchanged(i.Key, func() {
		_, err := t.Create(t.ctx, join)
		t.ok(err)
		t.steer(i.Key, provider.SteerSuspend, suspend)
	})
	made := createRequest("i")
	made.RequestID = "made"
	res, err := t.Create(t.ctx, made)
	t.ok(err)
	t.checkf(res.Created && res.Instance.Key == i.Key, "got %+v, want the instance as created", res)
}

func carryFamily(t *trial) {
	i := laden(t)
	parent := t.byID("parent")
	t.commit(next(parent))
	l := t.away(i.Key, 0)
	t.arrive(l)
	got := t.get(i.Key)
	is(t, "the parent", got.Parent, i.Parent)
	t.steer(i.Key, provider.SteerTerminate, func(r *provider.SteerRequest) {
		notice := text("child ended")
		r.ParentNotice = &notice
	})
	u := t.fetchOne(named("parent"), upTo(9))
	words := u.payloads()
	t.checkf(words == "told child ended" || words == "child ended told", "the parent got %q, want both messages", words)
}

func importArrives(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("m"))
	l := t.away(i.Key, 1)
	t.mustf(len(l.pages) > 1, "the export has %d pages, want more", len(l.pages))
	res := t.imports(l.page(0))
	t.checkf(res.Seal.State == provider.SealArriving && res.Seal.Arrived && !res.Done, "got %+v, want it arriving", res)
	t.unsteered(i.Key)
	_, err := t.sealing(i.Key, l.transfer, provider.SealHeld, back)
	t.want(err, provider.ErrMoved)
	_, err = t.Create(t.ctx, createRequest("i"))
	t.want(err, provider.ErrExists)
	t.noTurn("the instance is arriving", named("i"))
	for n := 1; n < len(l.pages); n++ {
		res = t.imports(l.page(n))
	}
	t.checkf(res.Seal.State == provider.SealClosed && res.Done, "got %+v, want it closed and done", res)
	t.noTurn("the instance is closed", named("i"))
	t.unsteered(i.Key)
}

func importRepeats(t *trial) {
	i := laden(t)
	l := t.away(i.Key, 1)
	for n := range l.pages {
		t.imports(l.page(n))
		t.imports(l.page(n))
	}
	t.seal(i.Key, l.transfer, provider.SealHeld)
	t.seal(i.Key, l.transfer, provider.SealNone)
	is(t, "the messages", len(t.fetchOne(named("i"), upTo(9)).Messages), 1)
	is(t, "the messages", t.get(i.Key).InboxMessages, i.InboxMessages)
	t.tasksAre(i.Key, "1 2 3")
	t.historyIs(i.Key, i.Execution, "1:again 2:a 3:b")
}

func importAgain(t *trial) {
	i := laden(t)
	tasks := len(t.read(provider.GetRequest{Key: i.Key, WithTasks: true}).Tasks)
	l := t.away(i.Key, 1)
	for n := range len(l.pages) - 1 {
		t.imports(l.page(n))
	}
	t.arrive(l)
	got := t.read(provider.GetRequest{Key: i.Key, WithTasks: true})
	is(t, "the tasks", len(got.Tasks), tasks)
	is(t, "the messages", got.Instance.InboxMessages, i.InboxMessages)
	t.historyIs(i.Key, i.Execution, "1:again 2:a 3:b")
}

func importGap(t *trial) {
	i := laden(t)
	l := t.away(i.Key, 1)
	refused := func(n int, changes ...func(*provider.ImportRequest)) {
		_, err := t.mover("Import").Import(t.ctx, l.page(n, changes...))
		t.want(err, provider.ErrConflict)
	}
	refused(1)
	t.imports(l.page(0))
	refused(2)
	refused(1, func(r *provider.ImportRequest) { r.Transfer = unique() })
	t.imports(l.page(1))
}

func importDone(t *trial) {
	i := laden(t)
	l := t.away(i.Key, 1)
	t.arrive(l)
	t.send(i.Key, text("later"))
	t.unchanged(i.Key, func() {
		for n := range l.pages {
			res := t.imports(l.page(n))
			t.checkf(res.Done && res.Seal.State == provider.SealNone, "got %+v, want it done and free", res)
		}
	})
}

func importInUse(t *trial) {
	i := t.begin("i")
	transfer := t.closed(i.Key)
	l := t.export(i.Key, transfer, 0)
	imports := func(changes ...func(*provider.ImportRequest)) {
		_, err := t.mover("Import").Import(t.ctx, l.page(0, changes...))
		t.want(err, provider.ErrExists)
	}
	imports() // it is the source
	_, err := t.Delete(t.ctx, provider.DeleteRequest{Key: i.Key, Force: true})
	t.ok(err)
	other := t.begin("i")
	t.unchanged(other.Key, func() {
		imports()
		imports(func(r *provider.ImportRequest) { r.Replace = true })
	})
}

func importReplaces(t *trial) {
	i := t.begin("i")
	t.send(i.Key, text("m"))
	transfer := t.closed(i.Key)
	l := t.export(i.Key, transfer, 0)
	back := l.page(0, func(r *provider.ImportRequest) {
		r.Replace, r.Transfer = true, unique()
		r.Parcel.Messages[0].Payload = []byte("changed")
		added, last, in := []byte("added"), &r.Parcel.History[len(r.Parcel.History)-1], &r.Parcel.Head.Instance
		last.Events = append(last.Events, added)
		in.HistoryLength, in.HistoryBytes = in.HistoryLength+1, in.HistoryBytes+int64(len(added))
	})
	t.imports(back)
	t.seal(i.Key, back.Transfer, provider.SealHeld)
	t.seal(i.Key, back.Transfer, provider.SealNone)
	is(t, "the messages", t.fetchOne(named("i")).payloads(), "changed")
	is(t, "the length of its history", t.get(i.Key).HistoryLength, i.HistoryLength+1)
}

func importEarly(t *trial) {
	i := t.begin("i")
	l := t.away(i.Key, 0)
	_, err := t.mover("Import").Import(t.ctx, l.page(0, func(r *provider.ImportRequest) { r.At = r.At.Add(time.Hour) }))
	t.want(err, provider.ErrClockBehind)
	t.gone(i.Key)
}
