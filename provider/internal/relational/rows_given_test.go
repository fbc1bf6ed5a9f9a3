package relational

import (
	"fmt"
	"strings"
	"time"

	"github.com/perdure/perdure/provider"
)

// theTime is the instant at which the calls of all tables run.
const theTime provider.Time = 1000

// theElapsed is the same instant on the lease clock.
const theElapsed = 500

// us returns a duration in the unit of storage time.
func us(n int) time.Duration { return time.Duration(n) * time.Microsecond }

// newFakeRows returns rows with one running instance, i.
func newFakeRows() *fakeRows {
	r := &fakeRows{kinds: NewKinds(), state: state{
		heads: map[provider.UUID]Head{}, current: map[string]provider.UUID{}, inbox: map[messageAt]Message{}, tasks: map[provider.TaskRef]Task{},
		executions: map[executionAt]provider.Status{}, lanes: map[Lane]LaneRanks{}, listeners: map[provider.UUID]*provider.Listener{},
		seals: map[provider.UUID]seal{}, acts: map[provider.UUID]string{}, letters: map[int64]DeadLetterRow{}, texts: map[string]string{},
	}}
	r.kinds.AddTurn(1, TurnKind{provider.Capability{Name: "f", CodeVersion: "1"}, 1})
	r.kinds.AddTurn(2, TurnKind{Level: 1}) // of an instance that has lost its name
	r.kinds.AddTurn(5, TurnKind{provider.Capability{Name: "f", CodeVersion: "1"}, 5})
	r.kinds.AddTask(1, TaskKind{TaskFilter{"q", "a"}, provider.PriorityDefault, 0})
	r.kinds.AddTask(2, TaskKind{TaskFilter{"q", "a"}, provider.PriorityDefault, Ranked})
	r.instance("i")
	return r
}

// instance stores an instance whose key and ID have one name.
func (r *fakeRows) instance(id string, changes ...func(*Head)) {
	h := Head{
		Key: u(id), ID: id, Kind: 1, Status: provider.StatusRunning, Execution: 1, Version: u("v1"), Length: 2, Bytes: 20, UpdatedAt: 100,
		NextMessage: 5,
	}
	for _, change := range changes {
		change(&h)
	}
	r.heads[h.Key], r.current[h.ID] = h, h.Key
}

// change changes the stored row of an instance.
func (r *fakeRows) change(id string, change func(*Head)) {
	h := r.heads[u(id)]
	change(&h)
	r.heads[h.Key] = h
}

// removed removes an instance.
func (r *fakeRows) removed(id string) {
	delete(r.heads, u(id))
	delete(r.current, id)
}

// message puts a message into an inbox, with a payload that names it.
func (r *fakeRows) message(to string, id int64, at provider.Time, changes ...func(*Message)) {
	m := Message{Place: Place{at, id}, Kind: 1, Payload: fmt.Appendf(nil, "m%d", id)}
	for _, change := range changes {
		change(&m)
	}
	r.inbox[messageAt{u(to), id}] = m
	r.change(to, func(h *Head) {
		h.Inbox, h.InboxBytes, h.NextMessage = h.Inbox+1, h.InboxBytes+int64(len(m.Payload)), max(h.NextMessage, id+1)
		if h.ReadyAt == 0 || at < h.ReadyAt {
			h.ReadyAt = at
		}
	})
}

// timer puts a timer into the inbox of an instance.
func (r *fakeRows) timer(of string, id int64, at provider.Time, execution, event int64) {
	r.message(of, id, at, func(m *Message) { m.Timer, m.Execution, m.EventID = true, execution, event })
}

// ref names a task of execution 1.
func ref(of string, event int64) provider.TaskRef {
	return provider.TaskRef{Key: u(of), Execution: 1, EventID: event}
}

// task stores a queued task.
func (r *fakeRows) task(of string, event int64, changes ...func(*Task)) {
	task := Task{TaskRef: ref(of, event), Kind: 1, State: provider.TaskQueued, Attempt: 1, NotBefore: 800, FetchAt: 800}
	for _, change := range changes {
		change(&task)
	}
	r.tasks[task.TaskRef] = task
}

// leased makes a task one that token t leases.
func leased(task *Task) {
	task.State, task.Deliveries, task.Token, task.Owner, task.LeaseUntil, task.Begun, task.FetchAt = provider.TaskLeased, 1, u("t"), "o", 900, true, 0
}

// expired makes a task one whose lease by token t has expired.
func expired(task *Task) {
	leased(task)
	task.LeaseUntil, task.FetchAt = theElapsed, theElapsed
}

// parked makes a task one that token t has parked.
func parked(task *Task) {
	leased(task)
	task.State, task.Owner, task.LeaseUntil = provider.TaskParked, "", 0
}

// Changes of rows of instances.

func suspended(h *Head) { h.Status = provider.StatusSuspended }
func deleting(h *Head)  { h.Deleting = true }
func ended(h *Head)     { h.Status, h.EndedAt = provider.StatusCompleted, 700 }
func nameless(h *Head)  { h.Kind = 2 }
func levelFive(h *Head) { h.Kind = 5 }

// held leases the turn of an instance to token l.
func held(h *Head) { h.LeaseToken, h.LeaseOwner, h.LeaseUntil, h.Deliveries = u("l"), "o", 900, 2 }

// sealed stores the seal of an instance that moves by transfer x.
func (r *fakeRows) sealed(id string, state provider.SealState, changes ...func(*seal)) {
	s := seal{Seal: provider.Seal{Key: u(id), Transfer: u("x"), State: state, Status: provider.StatusRunning}}
	for _, change := range changes {
		change(&s)
	}
	r.seals[s.Key] = s
	r.change(id, func(h *Head) { h.Status, h.Deleting = provider.StatusSuspended, state != provider.SealHeld })
}

// taskGiven returns rows with task 3 of i.
func taskGiven(changes ...func(*Task)) func(*fakeRows) {
	return func(r *fakeRows) { r.task("i", 3, changes...) }
}

// and returns rows with all of these.
func and(given ...func(*fakeRows)) func(*fakeRows) {
	return func(r *fakeRows) {
		for _, add := range given {
			add(r)
		}
	}
}

// changedTo returns rows in which i is changed.
func changedTo(changes ...func(*Head)) func(*fakeRows) {
	return func(r *fakeRows) {
		for _, change := range changes {
			r.change("i", change)
		}
	}
}

func inSession(task *Task)   { task.Session = "s" }
func cancelled(task *Task)   { task.Cancel = true }
func gone(r *fakeRows)       { r.removed("i") }
func sealClosed(r *fakeRows) { r.sealed("i", provider.SealClosed) }
func sealHeld(r *fakeRows)   { r.sealed("i", provider.SealHeld) }

// Query runs the few statements that rules run themselves.
func (r *fakeRows) Query(list ...Query) error {
	for _, q := range list {
		rows, err := r.run(q.SQL, q.Args)
		for i := 0; err == nil && i < len(rows); i++ {
			err = q.Each(rows[i])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *fakeRows) run(sql string, args []any) ([]fakeRow, error) {
	key, _ := args[0].(provider.UUID)
	switch sql {
	case sqlSeal:
		s, ok := r.seals[key]
		if err := r.ask("seal " + named(key)); err != nil || !ok {
			return nil, err
		}
		return []fakeRow{{s.Key, "", s.Transfer, int64(s.State), s.Arrived, int64(s.Status), int64(s.ended), s.pages}}, nil
	case sqlPut:
		s := seal{Seal: provider.Seal{
			Key: key, Transfer: args[1].(provider.UUID), State: provider.SealState(args[2].(int64)), Arrived: args[3].(bool),
			Status: provider.Status(args[4].(int64)),
		}, ended: provider.Time(args[5].(int64)), pages: args[6].(int64)}
		r.seals[key] = s
		return nil, r.wrotef("Seal %s: %s by %s, %s, %d pages", named(key), s.State, named(s.Transfer), s.Status, s.pages)
	case sqlFreeTasks:
		return r.freeTasks(key), r.wrotef("FreeTasks %s", named(key))
	case sqlMoveIn:
		return nil, r.moveIn(args)
	case sqlInboxSize:
		h := r.heads[key]
		_, h.InboxBytes = r.size(key)
		r.heads[key] = h
		return nil, r.wrotef("InboxSize %s: %d", named(key), h.InboxBytes)
	case sqlScheduled:
		return nil, r.wrotef("Scheduled %s/%d/%d: %d", named(key), args[1], args[2], args[3])
	case sqlMoveDeadLetter:
		return nil, r.wrotef("MoveDeadLetter %s", named(args[1].(provider.UUID)))
	case sqlLockDeadLetter:
		return r.letter(args[0].(int64))
	case sqlDropDeadLetters:
		for _, id := range args[0].([]int64) {
			delete(r.letters, id)
		}
		return make([]fakeRow, len(args[0].([]int64))), r.wrotef("DropDeadLetters %v", args[0])
	default:
		return nil, r.clear(sql, key)
	}
}

// freeTasks ends the leases of an instance's tasks, and returns their kinds.
func (r *fakeRows) freeTasks(key provider.UUID) (kinds []fakeRow) {
	for _, ref := range r.pending(func(task *Task) bool { return task.Key == key && task.State == provider.TaskLeased }) {
		task := r.tasks[ref]
		task.State, task.Token, task.Owner, task.LeaseUntil, task.Rank = provider.TaskQueued, provider.UUID{}, "", 0, 0
		r.tasks[ref] = task
		kinds = append(kinds, fakeRow{task.Kind})
	}
	return kinds
}

// moveIn inserts an instance that comes from another store.
func (r *fakeRows) moveIn(args []any) error {
	h := Head{
		Key: args[0].(provider.UUID), ID: args[1].(string), Kind: args[3].(int64), Status: provider.Status(args[4].(int64)), Deleting: true,
		Execution: args[5].(int64), Version: args[6].(provider.UUID), Length: args[7].(int64), Bytes: args[8].(int64), Blocked: args[14].(bool),
		RetryAt: provider.Time(args[19].(int64)), UpdatedAt: provider.Time(args[22].(int64)), ReadyAt: provider.Time(args[23].(int64)),
		Inbox: args[24].(int64), NextMessage: args[25].(int64), Deliveries: args[26].(int64), NotBefore: provider.Time(args[27].(int64)),
	}
	if key, has := args[9].(provider.UUID); has {
		h.Parent = provider.Parent{Key: key, Execution: args[11].(int64), EventID: args[12].(int64)}
	}
	r.heads[h.Key] = h
	if args[2].(bool) {
		r.current[h.ID] = h.Key
	}
	return r.wrotef("MoveIn %s:%s", named(h.Key), r.changed(Head{Key: h.Key, ID: h.ID}, h))
}

// clear removes the rows of an instance from the table that a statement names.
func (r *fakeRows) clear(sql string, key provider.UUID) error {
	switch {
	case strings.Contains(sql, "perdure.inbox "):
		r.take(key, func(*Message) bool { return true })
	case strings.Contains(sql, "perdure.task "):
		for _, ref := range r.pending(func(task *Task) bool { return task.Key == key }) {
			delete(r.tasks, ref)
		}
	case strings.Contains(sql, "perdure.instance "):
		if id := r.heads[key].ID; r.current[id] == key {
			delete(r.current, id)
		}
		delete(r.heads, key)
		return r.wrotef("Clear %s", named(key))
	}
	return nil
}

// letter reads a dead letter.
func (r *fakeRows) letter(id int64) ([]fakeRow, error) {
	l, ok := r.letters[id]
	if err := r.ask("letter"); err != nil || !ok {
		return nil, err
	}
	return []fakeRow{{
		l.ID, l.Task, l.Key, l.InstanceID, l.Execution, l.EventID, int64(l.Kind), l.Queue, l.Name, l.Reason, l.Payload, int64(l.At), l.Timer,
		int64(l.Priority), l.FairnessKey, l.Session, l.LimitKey,
	}}, nil
}

// fakeRow is a row of a statement.
type fakeRow []any

func (r fakeRow) Int(column int) int64 {
	n, _ := r[column].(int64)
	return n
}

func (r fakeRow) Bool(column int) bool {
	b, _ := r[column].(bool)
	return b
}

func (r fakeRow) Text(column int) string {
	s, _ := r[column].(string)
	return s
}

func (r fakeRow) Blob(column int) []byte {
	b, _ := r[column].([]byte)
	return b
}

func (r fakeRow) UUID(column int) provider.UUID {
	id, _ := r[column].(provider.UUID)
	return id
}

func (r fakeRow) VerifiedBlob(column int) []byte { return r.Blob(column) }

func (r fakeRow) NotNull(int) {}

func (r fakeRow) Fault() error { return nil }
