package relational

import "github.com/perdure/perdure/provider"

// commitTaskCases are about the tasks that a turn completes, adds and cancels.
func commitTaskCases() []ruleCase {
	const turned = "StoreHead i: Version=v2 UpdatedAt=1000"
	completes := func(events ...int64) func(*turnReq) {
		return func(r *turnReq) {
			for _, event := range events {
				r.Completes = append(r.Completes, provider.TaskCompletion{EventID: event, Token: u("t")})
			}
		}
	}
	adds := func(changes ...func(*provider.NewTask)) func(*turnReq) {
		return func(r *turnReq) {
			r.Tasks = append(r.Tasks, with(provider.NewTask{EventID: 4, Queue: "q", Name: "a"}, changes))
		}
	}
	handOff := func(n *provider.NewTask) {
		n.Lease = &provider.TaskLease{Token: u("t2"), Owner: "o", Duration: us(100)}
	}
	cancels := func(event int64, remove bool) func(*turnReq) {
		return func(r *turnReq) {
			r.CancelTasks = append(r.CancelTasks, provider.CancelTask{EventID: event, Remove: remove})
		}
	}
	task := func(changes ...func(*Task)) func(*fakeRows) {
		return func(r *fakeRows) { r.task("i", 3, changes...) }
	}
	watched := func(changes ...func(*Task)) func(*fakeRows) {
		return func(r *fakeRows) {
			r.watched = true
			r.task("i", 3, changes...)
		}
	}
	inSession := func(task *Task) { task.Session = "s" }
	const next = " Kind=q:a:3 State=leased Attempt=1 Deliveries=1 Token=t2 Owner=o LeaseUntil=600 Begun=true NotBefore=1000"

	return []ruleCase{
		does("a task is completed", task(leased), commits(completes(3)), "CompleteTask i/1/3", turned),
		does("a task is completed after its lease has expired", task(expired), commits(completes(3)), "CompleteTask i/1/3", turned),
		refuses("no task is stored", nil, commits(completes(3)), provider.ErrLeaseLost, "CompleteTask i/1/3: no").guardedBy("CompleteTask"),
		refuses("a parked task", task(parked), commits(completes(3)), provider.ErrLeaseLost, "CompleteTask i/1/3: no").guardedBy("CompleteTask"),
		does("a task is completed and its end matters", watched(leased, inSession), commits(completes(3)),
			"UseSession s", "CompleteTask i/1/3", turned).tells("freed q:a:3, commits 1"),
		refuses("no task is stored and its end would matter", func(r *fakeRows) { r.watched = true }, commits(completes(3)), provider.ErrLeaseLost),
		refuses("a parked task whose end would matter", watched(parked), commits(completes(3)), provider.ErrLeaseLost),
		does("two tasks are completed", func(r *fakeRows) {
			r.task("i", 3, leased)
			r.task("i", 4, leased)
		}, commits(completes(3, 4)),
			"CompleteTask i/1/3", "CompleteTask i/1/4", turned).tells("freed q:a:3, commits 1"),
		refuses("one of two tasks is lost", task(leased), commits(completes(3, 4)), provider.ErrLeaseLost),
		does("a task is handed off after another one", task(leased), commits(completes(3), adds(handOff)),
			"CompleteTask i/1/3", "AddTask i/1/4:"+next, turned).tells("lease 600, commits 1").fast("ReplaceTask i/1/3 by 4:"+next, turned),
		refuses("a task is handed off after one that is lost", nil, commits(completes(3), adds(handOff)), provider.ErrLeaseLost,
			"CompleteTask i/1/3: no").fast("ReplaceTask i/1/3 by 4:"+next+": no").guardedBy("CompleteTask", "ReplaceTask"),
		does("a task is handed off after one whose end matters", watched(leased), commits(completes(3), adds(handOff)),
			"CompleteTask i/1/3", "AddTask i/1/4:"+next, turned),
		does("a task with a deadline is handed off", task(leased), commits(completes(3), adds(handOff, func(n *provider.NewTask) { n.Deadline = us(300) })),
			"CompleteTask i/1/3", "AddTask i/1/4:"+next+" Deadline=1300", turned),
		does("a task of a session is handed off", nil, commits(adds(handOff, func(n *provider.NewTask) { n.Session = "s" })),
			"ForgetEnded s", "AddTask i/1/4: Kind=q:a:3:2 Session=s State=leased Attempt=1 Deliveries=1 Token=t2 Owner=o LeaseUntil=600 Begun=true NotBefore=1000",
			turned).tells("lease 600, commits 1"),
		does("a task is queued", nil, commits(adds()),
			"AddTask i/1/4: Kind=q:a:3 State=queued Attempt=1 NotBefore=1000 FetchAt=1000", turned).tells("tasks q:a:3, commits 1"),
		does("a task of a new kind, in a session", nil, commits(adds(func(n *provider.NewTask) { n.Name, n.Priority, n.Session = "b", 1, "s" })),
			"AddTask i/1/4: Kind=q:b:1:2 Session=s State=queued Attempt=1 NotBefore=1000 FetchAt=1000", turned).tells("tasks q:b:1:2, commits 1"),
		does("a task with times", nil, commits(adds(func(n *provider.NewTask) { n.NotBefore, n.StartBy, n.Deadline = us(200), us(300), us(400) })),
			"AddTask i/1/4: Kind=q:a:3 State=queued Attempt=1 NotBefore=1200 StartBy=1300 Deadline=1400 FetchAt=1200 ExpireAt=1300", turned).
			tells("due 1200, commits 1"),
		does("the first task of a fairness key", nil, commits(adds(func(n *provider.NewTask) { n.FairnessKey = "k" })),
			"AddTask i/1/4: Kind=q:a:3:1 State=queued Attempt=1 NotBefore=1000 Rank=1000 FetchAt=1000", turned).tells("tasks q:a:3:1, commits 1"),
		does("the first task of a fairness key behind another one", func(r *fakeRows) { r.lanes[Lane{"q", "k"}] = LaneRanks{First: 9000} },
			commits(adds(func(n *provider.NewTask) { n.FairnessKey = "k" })),
			"AddTask i/1/4: Kind=q:a:3:1 State=queued Attempt=1 NotBefore=1000 Rank=9000 FetchAt=9000", turned),
		does("two tasks of a fairness key behind others of it", func(r *fakeRows) { r.lanes[Lane{"q", "k"}] = LaneRanks{First: 9000, Last: 9000} },
			commits(adds(func(n *provider.NewTask) { n.FairnessKey = "k" }), adds(func(n *provider.NewTask) { n.EventID, n.FairnessKey = 5, "k" })),
			"AddTask i/1/4: Kind=q:a:3:1 State=queued Attempt=1 NotBefore=1000 Rank=60009000 FetchAt=60009000",
			"AddTask i/1/5: Kind=q:a:3:1 State=queued Attempt=1 NotBefore=1000 Rank=120009000 FetchAt=120009000", turned),
		does("a delayed task of a fairness key takes no turn", nil, commits(adds(func(n *provider.NewTask) { n.FairnessKey, n.NotBefore = "k", us(1) })),
			"AddTask i/1/4: Kind=q:a:3 State=queued Attempt=1 NotBefore=1001 FetchAt=1001", turned),
		does("a task is cancelled that is gone", nil, commits(cancels(3, false)), turned),
		does("a queued task is cancelled", task(), commits(cancels(3, false)), "RemoveTask i/1/3", turned).tells("freed q:a:3, commits 1"),
		does("a leased task is cancelled", task(leased), commits(cancels(3, false)), "StoreTask i/1/3: Cancel=true", turned).tells("notice i/1/3, commits 1"),
		does("a parked task is cancelled", task(parked), commits(cancels(3, false)), "StoreTask i/1/3: Cancel=true", turned).tells("notice i/1/3, commits 1"),
		does("a leased task is removed", task(leased), commits(cancels(3, true)), "RemoveTask i/1/3", turned).tells("freed q:a:3, notice i/1/3, commits 1"),
		does("a task whose lease has expired is cancelled", task(expired), commits(cancels(3, false)),
			"RemoveTask i/1/3", turned).tells("freed q:a:3, commits 1"),
		does("a task is added and cancelled", nil, commits(adds(), cancels(4, false)), turned).tells("notice i/1/4, commits 1"),
		does("a task is handed off and cancelled", nil, commits(adds(handOff), cancels(4, false)),
			"AddTask i/1/4:"+next, "StoreTask i/1/4: Cancel=true", turned).tells("lease 600, notice i/1/4, commits 1"),
		does("a task is handed off and removed", nil, commits(adds(handOff), cancels(4, true)), turned).tells("notice i/1/4, commits 1"),
	}
}
