package relational

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/perdure/perdure/provider"
)

// errUnknown is what a store returns that decides from memory and has to read first.
var errUnknown = errors.New("not known yet")

// fakeRows are the rows of a store in maps. They know rows and no rule. They record what rules write. One answer can be unknown, or
// one write fail.
type fakeRows struct {
	state

	kinds   *Kinds
	writes  []string
	asked   []string // answers and writes
	unknown int      // which of them is not known or fails, from 1; 0: none
}

// state is what the rows hold. Its values are never changed in place, so that a copy of the maps is a copy of the state.
type state struct {
	heads      map[provider.UUID]Head
	current    map[string]provider.UUID // by ID
	inbox      map[messageAt]Message
	tasks      map[provider.TaskRef]Task
	executions map[executionAt]provider.Status // that are over
	lanes      map[Lane]LaneRanks
	listeners  map[provider.UUID]*provider.Listener
	seals      map[provider.UUID]seal
	acts       map[provider.UUID]string
	letters    map[int64]DeadLetterRow
	texts      map[string]string // all else that is stored as it comes
	attached   []provider.UUID   // the children with close policy Cancel
	watched    bool
	held       int // sessions
}

type messageAt struct {
	key provider.UUID
	id  int64
}

type executionAt struct {
	key       provider.UUID
	execution int64
}

func (s *state) clone() state {
	c := *s
	c.heads, c.current, c.inbox, c.tasks = maps.Clone(s.heads), maps.Clone(s.current), maps.Clone(s.inbox), maps.Clone(s.tasks)
	c.executions, c.lanes, c.listeners = maps.Clone(s.executions), maps.Clone(s.lanes), maps.Clone(s.listeners)
	c.seals, c.acts, c.letters, c.texts = maps.Clone(s.seals), maps.Clone(s.acts), maps.Clone(s.letters), maps.Clone(s.texts)
	return c
}

// wrotef records a write, unless it fails.
func (r *fakeRows) wrotef(format string, args ...any) error {
	what := fmt.Sprintf(format, args...)
	err := r.ask(what)
	if err == nil {
		r.writes = append(r.writes, what)
	}
	return err
}

// triedf records a write that answers whether it has found its row.
func (r *fakeRows) triedf(found bool, format string, args ...any) bool {
	if !found {
		format += ": no"
	}
	r.writes = append(r.writes, fmt.Sprintf(format, args...))
	return found
}

// ask returns an error if this answer is not known.
func (r *fakeRows) ask(what string) error {
	r.asked = append(r.asked, what)
	if len(r.asked) == r.unknown {
		return fmt.Errorf("%s: %w", what, errUnknown)
	}
	return nil
}

// waiting returns an inbox in order.
func (s *state) waiting(key provider.UUID) (list []Message) {
	for at, m := range s.inbox {
		if at.key == key {
			list = append(list, m)
		}
	}
	slices.SortFunc(list, func(a, b Message) int { return cmp.Or(cmp.Compare(a.VisibleAt, b.VisibleAt), cmp.Compare(a.ID, b.ID)) })
	return list
}

// size returns how many messages wait in an inbox, and their bytes.
func (s *state) size(key provider.UUID) (count, bytes int64) {
	for _, m := range s.waiting(key) {
		count, bytes = count+1, bytes+int64(len(m.Payload))
	}
	return count, bytes
}

// pending returns the tasks that match, in order.
func (s *state) pending(match func(*Task) bool) (list []provider.TaskRef) {
	for ref, task := range s.tasks {
		if match(&task) {
			list = append(list, ref)
		}
	}
	slices.SortFunc(list, func(a, b provider.TaskRef) int { return strings.Compare(taskName(a), taskName(b)) })
	return list
}

// u returns the UUID with a name.
func u(name string) (id provider.UUID) {
	copy(id[:], name)
	return id
}

// named returns the name of a UUID.
func named(id provider.UUID) string { return strings.TrimRight(string(id[:]), "\x00") }

func taskName(ref provider.TaskRef) string {
	return fmt.Sprintf("%s/%d/%d", named(ref.Key), ref.Execution, ref.EventID)
}

// changed lists the columns in which two rows differ, with their new values.
func (r *fakeRows) changed(was, is any) string {
	var out strings.Builder
	a, b := reflect.ValueOf(was), reflect.ValueOf(is)
	for i := range a.NumField() {
		name := a.Type().Field(i).Name
		_, head := is.(Head)
		if !a.Type().Field(i).IsExported() || head && slices.Contains([]string{"FetchAt", "Wide", "Kept"}, name) ||
			reflect.DeepEqual(a.Field(i).Interface(), b.Field(i).Interface()) {
			continue
		}
		value := b.Field(i).Interface()
		if name == "Kind" {
			value = r.kindName(value.(int64), head)
		}
		fmt.Fprintf(&out, " %s=%s", name, shown(value))
	}
	return out.String()
}

// kindName returns the columns of a kind of turn or task. A task that is in a session or has a rank has a class, too.
func (r *fakeRows) kindName(id int64, turn bool) string {
	if kind := r.kinds.ByTurn[id]; turn {
		return fmt.Sprintf("%s:%s:%d", kind.Name, kind.CodeVersion, kind.Level)
	}
	kind := r.kinds.ByTask[id]
	name := fmt.Sprintf("%s:%s:%d", kind.Queue, kind.Name, kind.Priority)
	if kind.Class != 0 {
		name += fmt.Sprintf(":%d", kind.Class)
	}
	return name
}

func shown(value any) string {
	switch v := value.(type) {
	case provider.UUID:
		return named(v)
	case provider.TaskState:
		return [...]string{"", "queued", "leased", "parked"}[v]
	case provider.Parent:
		return fmt.Sprintf("%s/%d/%d", named(v.Key), v.Execution, v.EventID)
	case []byte:
		return string(v)
	default:
		return fmt.Sprint(v)
	}
}

// Kinds and the numbers of new ones. A store keeps those even if the call fails, so they are no writes of a rule.

func (r *fakeRows) Kinds() (*Kinds, error) { return r.kinds, r.ask("Kinds") }

func (r *fakeRows) NewTurnKind(kind TurnKind) (int64, error) {
	err, id := r.ask("NewTurnKind"), r.kinds.NewestTurn+1
	if err == nil {
		r.kinds.AddTurn(id, kind)
	}
	return id, err
}

func (r *fakeRows) NewTaskKind(kind TaskKind) (int64, error) {
	err, id := r.ask("NewTaskKind"), r.kinds.NewestTask+1
	if err == nil {
		r.kinds.AddTask(id, kind)
	}
	return id, err
}

func (r *fakeRows) Unknown(id int64) error { return NoKind(id) }

// Instances.

func (r *fakeRows) LoadHead(key provider.UUID) (*Head, error) {
	err := r.ask("LoadHead " + named(key))
	h, ok := r.heads[key]
	if err != nil || !ok {
		return nil, err
	}
	return &h, nil
}

func (r *fakeRows) Current(id string) (provider.UUID, error) {
	return r.current[id], r.ask("Current " + id)
}

func (r *fakeRows) Rivals(id string, key provider.UUID) (sameID, sameKey *Rival, err error) {
	return r.rival(r.current[id]), r.rival(key), r.ask("Rivals " + id)
}

func (r *fakeRows) rival(key provider.UUID) *Rival {
	h, ok := r.heads[key]
	if !ok {
		return nil
	}
	return &Rival{Key: h.Key, ID: h.ID, Status: h.Status, Deleting: h.Deleting, Request: r.texts["request "+named(key)]}
}

func (r *fakeRows) Instance(key provider.UUID) (in provider.Instance, err error) {
	h, ok := r.heads[key]
	if err = r.ask("Instance " + named(key)); err == nil && !ok {
		err = NotFound("", key)
	}
	h.Describe(&in, r.kinds.ByTurn[h.Kind])
	return in, err
}

func (r *fakeRows) TurnsOf(token provider.UUID) (keys []provider.UUID, err error) {
	for key, h := range r.heads {
		if h.LeaseToken == token {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b provider.UUID) int { return strings.Compare(named(a), named(b)) })
	return keys, r.ask("TurnsOf " + named(token))
}

func (r *fakeRows) Attached(parent provider.UUID) ([]provider.UUID, error) {
	return r.attached, r.ask("Attached " + named(parent))
}

func (r *fakeRows) InsertInstance(h *Head, req *provider.CreateRequest) error {
	return r.inserted("InsertInstance", h, req)
}

func (r *fakeRows) inserted(how string, h *Head, req *provider.CreateRequest) error {
	r.heads[h.Key], r.current[h.ID], r.texts["request "+named(h.Key)] = stored(h), h.Key, req.RequestID
	return r.wrotef("%s %s:%s", how, named(h.Key), r.changed(Head{Key: h.Key, ID: h.ID}, *h))
}

// stored returns a head without what is not stored.
func stored(h *Head) Head {
	row := *h
	row.Wide, row.Kept, row.dirty = false, false, false
	return row
}

func (r *fakeRows) Retire(key provider.UUID) error {
	delete(r.current, r.heads[key].ID)
	return r.wrotef("Retire %s", named(key))
}

// StoreHead writes all but the parent link, as the stores do.
func (r *fakeRows) StoreHead(h *Head) error {
	h.FetchAt = h.Ready()
	if h.LeaseUntil != 0 {
		h.FetchAt = 0
	}
	before, row := r.heads[h.Key], stored(h)
	row.Parent = before.Parent
	r.heads[h.Key] = row
	return r.wrotef("StoreHead %s:%s", named(h.Key), r.changed(before, row))
}

func (r *fakeRows) Block(key provider.UUID, f *provider.TurnFailure, now provider.Time, fresh bool) error {
	return r.wrotef("Block %s: %s at %d, fresh %t", named(key), f.Reason, now, fresh)
}

func (r *fakeRows) ClearBlocked(key provider.UUID) error {
	return r.wrotef("ClearBlocked %s", named(key))
}

// set stores something that is read in no rule.
func (r *fakeRows) set(what string, key provider.UUID, value string) error {
	r.texts[what+" "+named(key)] = value
	return r.wrotef("%s %s: %s", what, named(key), value)
}

func (r *fakeRows) SetCustomStatus(key provider.UUID, status []byte) error {
	return r.set("SetCustomStatus", key, string(status))
}

func (r *fakeRows) SetResult(key provider.UUID, result []byte, failure *Failure) error {
	value := string(result)
	if failure != nil {
		value += fmt.Sprintf(", %s of %s at %d", failure.Excerpt, failure.Group, failure.At)
	}
	return r.set("SetResult", key, value)
}

func (r *fakeRows) Acts(key provider.UUID) ([]byte, error) {
	return []byte(r.acts[key]), r.ask("Acts " + named(key))
}

func (r *fakeRows) SetActs(key provider.UUID, acts []byte) error {
	r.acts[key] = string(acts)
	return r.wrotef("SetActs %s: %d", named(key), len(acts)/actSize)
}

func (r *fakeRows) SetAttributes(key provider.UUID, list []provider.Attribute) error {
	return r.set("SetAttributes", key, fmt.Sprint(len(list)))
}

func (r *fakeRows) ClearAttributes(key provider.UUID) error { return r.set("ClearAttributes", key, "") }

func (r *fakeRows) SetListener(key provider.UUID, l *provider.Listener) error {
	h := r.heads[key]
	h.Listened = true
	r.heads[key], r.listeners[key] = h, l
	return r.wrotef("SetListener %s: %s", named(key), named(l.Key))
}

func (r *fakeRows) Listener(key provider.UUID) (*provider.Listener, error) {
	return r.listeners[key], r.ask("Listener " + named(key))
}

func (r *fakeRows) SetValue(key provider.UUID, v provider.KeyValue) error {
	if v.Value == nil {
		return r.set("SetValue "+v.Key, key, "none")
	}
	return r.set("SetValue "+v.Key, key, string(v.Value))
}

func (r *fakeRows) MoveChild(h *Head) error {
	row := r.heads[h.Key]
	row.Parent = h.Parent
	r.heads[h.Key] = row
	return r.wrotef("MoveChild %s: %s", named(h.Key), shown(h.Parent))
}

// Inboxes.

func (r *fakeRows) Waiting(key provider.UUID, _ []int64, fn func(Waiting) bool) error {
	for _, m := range r.waiting(key) {
		if !fn(Waiting{Place: m.Place, Bytes: int64(len(m.Payload)), Timer: m.Timer, Execution: m.Execution}) {
			break
		}
	}
	return r.ask("Waiting " + named(key))
}

func (r *fakeRows) FirstVisible(key provider.UUID) (at provider.Time, err error) {
	for _, m := range r.waiting(key) {
		at = m.VisibleAt
		break
	}
	return at, r.ask("FirstVisible " + named(key))
}

func (r *fakeRows) Timers(key provider.UUID, execution int64) (count, bytes int64, err error) {
	for _, m := range r.waiting(key) {
		if m.Timer && m.Execution == execution {
			count, bytes = count+1, bytes+int64(len(m.Payload))
		}
	}
	return count, bytes, r.ask("Timers " + named(key))
}

func (r *fakeRows) PutMessage(key provider.UUID, m *Message) error {
	r.inbox[messageAt{key, m.ID}] = *m
	text := fmt.Sprintf("PutMessage %s: %d at %d", named(key), m.ID, m.VisibleAt)
	if m.Timer {
		text += " timer"
	}
	if m.Execution != 0 || m.EventID != 0 {
		text += fmt.Sprintf(" of %d/%d", m.Execution, m.EventID)
	}
	if len(m.Payload) > 0 {
		text += " " + string(m.Payload)
	}
	return r.wrotef("%s", text)
}

// take removes the messages that match, and returns how many, and their size.
func (r *fakeRows) take(key provider.UUID, match func(*Message) bool) (count, bytes int64) {
	for _, m := range r.waiting(key) {
		if match(&m) {
			delete(r.inbox, messageAt{key, m.ID})
			count, bytes = count+1, bytes+int64(len(m.Payload))
		}
	}
	return count, bytes
}

func (r *fakeRows) RemoveMessages(key provider.UUID, consumed Consumed) error {
	var ids []int64
	for _, place := range consumed.Places {
		ids = append(ids, place.ID)
	}
	r.take(key, func(m *Message) bool { return slices.Contains(ids, m.ID) })
	if consumed.Prefix {
		return r.wrotef("RemoveMessages %s: first %v", named(key), ids)
	}
	return r.wrotef("RemoveMessages %s: %v", named(key), ids)
}

func (r *fakeRows) RemoveTimer(key provider.UUID, execution, event int64) (bytes int64, found bool, err error) {
	if err := r.ask("RemoveTimer"); err != nil {
		return 0, false, err
	}
	count, bytes := r.take(key, func(m *Message) bool { return m.Timer && m.Execution == execution && m.EventID == event })
	return bytes, r.triedf(count > 0, "RemoveTimer %s/%d/%d", named(key), execution, event), nil
}

func (r *fakeRows) RemoveTimers(key provider.UUID, execution int64) error {
	r.take(key, func(m *Message) bool { return m.Timer && m.Execution == execution })
	return r.wrotef("RemoveTimers %s/%d", named(key), execution)
}

func (r *fakeRows) DeadLetterMessage(h *Head, id int64, reason string, _ provider.Time) (bytes int64, found bool, err error) {
	if err := r.ask("DeadLetterMessage"); err != nil {
		return 0, false, err
	}
	count, bytes := r.take(h.Key, func(m *Message) bool { return m.ID == id })
	return bytes, r.triedf(count > 0, "DeadLetterMessage %s: %d, %s", named(h.Key), id, reason), nil
}

func (r *fakeRows) DeadLetterInbox(h *Head, reason string, _ provider.Time) error {
	count, _ := r.take(h.Key, func(*Message) bool { return true })
	return r.wrotef("DeadLetterInbox %s: %d, %s", named(h.Key), count, reason)
}

func (r *fakeRows) AddRequest(key provider.UUID, request string) (fresh bool, err error) {
	if err := r.ask("AddRequest"); err != nil {
		return false, err
	}
	what := "joined " + named(key) + " " + request
	fresh = r.texts[what] == ""
	r.texts[what] = "yes"
	return r.triedf(fresh, "AddRequest %s: %s", named(key), request), nil
}

func (r *fakeRows) SetRequests(key provider.UUID, requests []string) error {
	return r.set("SetRequests", key, strings.Join(requests, " "))
}

func (r *fakeRows) MoveMessages(h *Head, event, from, to int64) (moved int64, err error) {
	if err := r.ask("MoveMessages"); err != nil {
		return 0, err
	}
	for _, m := range r.waiting(h.Key) {
		if !m.Timer && m.Execution == from && m.EventID == event {
			m.Execution = to
			r.inbox[messageAt{h.Key, m.ID}] = m
			moved++
		}
	}
	r.triedf(moved > 0, "MoveMessages %s/%d: to %d", named(h.Key), event, to)
	return moved, nil
}

// Histories.

func (r *fakeRows) AppendEvents(h *Head, count int, _ []byte) error {
	return r.wrotef("AppendEvents %s/%d: %d after %d", named(h.Key), h.Execution, count, h.Length)
}

func (r *fakeRows) AddExecution(key provider.UUID, execution int64, status provider.Status, length int64, _ provider.Time) error {
	r.executions[executionAt{key, execution}] = status
	return r.wrotef("AddExecution %s/%d: %s, %d events", named(key), execution, status, length)
}

func (r *fakeRows) ExecutionStatus(key provider.UUID, execution int64) (provider.Status, error) {
	return r.executions[executionAt{key, execution}], r.ask("ExecutionStatus")
}

// Tasks.

func (r *fakeRows) TasksOf(token provider.UUID) ([]provider.TaskRef, error) {
	return r.pending(func(task *Task) bool { return task.LeasedBy(token) }), r.ask("TasksOf")
}

func (r *fakeRows) Task(ref provider.TaskRef) (*Task, error) {
	err := r.ask("Task " + taskName(ref))
	task, ok := r.tasks[ref]
	if err != nil || !ok {
		return nil, err
	}
	return &task, nil
}

func (r *fakeRows) LaneRanks(of Lane) (LaneRanks, error) { return r.lanes[of], r.ask("LaneRanks") }

func (r *fakeRows) AddTask(task *Task, _ *provider.NewTask) error {
	r.tasks[task.TaskRef] = *task
	return r.wrotef("AddTask %s:%s", taskName(task.TaskRef), r.changed(Task{TaskRef: task.TaskRef}, *task))
}

func (r *fakeRows) StoreTask(task *Task, details []byte) error {
	text := r.changed(r.tasks[task.TaskRef], *task)
	if details != nil {
		text += " details=" + string(details)
	}
	r.tasks[task.TaskRef] = *task
	return r.wrotef("StoreTask %s:%s", taskName(task.TaskRef), text)
}

func (r *fakeRows) DropRank(task *Task) error { return r.wrotef("DropRank %s", taskName(task.TaskRef)) }

func (r *fakeRows) RemoveTask(ref provider.TaskRef) error {
	delete(r.tasks, ref)
	return r.wrotef("RemoveTask %s", taskName(ref))
}

func (r *fakeRows) RemoveTasks(key provider.UUID, execution int64) error {
	for _, ref := range r.pending(func(task *Task) bool { return task.Key == key && task.Execution == execution }) {
		delete(r.tasks, ref)
	}
	return r.wrotef("RemoveTasks %s/%d", named(key), execution)
}

// holds reports whether a token holds a task that is not parked.
func (r *fakeRows) holds(ref provider.TaskRef, token provider.UUID) bool {
	task, ok := r.tasks[ref]
	return ok && task.Token == token && task.State != provider.TaskParked
}

func (r *fakeRows) CompleteTask(ref provider.TaskRef, token provider.UUID) (bool, error) {
	if err := r.ask("CompleteTask"); err != nil {
		return false, err
	}
	held := r.holds(ref, token)
	if held {
		delete(r.tasks, ref)
	}
	return r.triedf(held, "CompleteTask %s", taskName(ref)), nil
}

func (r *fakeRows) HoldTasks(key provider.UUID) error { return r.wrotef("HoldTasks %s", named(key)) }

func (r *fakeRows) ResumeTasks(fx *Effects, h *Head) error {
	if err := r.ask("ResumeTasks"); err != nil {
		return err
	}
	for _, ref := range r.pending(func(task *Task) bool { return task.Key == h.Key }) {
		fx.Tasks[r.tasks[ref].Kind] = struct{}{}
	}
	return r.wrotef("ResumeTasks %s", named(h.Key))
}

func (r *fakeRows) DeadLetterTask(task *Task, instanceID, reason string, _ provider.Time) error {
	return r.wrotef("DeadLetterTask %s: of %q, %s", taskName(task.TaskRef), instanceID, reason)
}

// Sessions.

func (r *fakeRows) TasksWatched() (bool, error) { return r.watched, r.ask("TasksWatched") }
func (r *fakeRows) UseSession(task *Task) error { return r.wrotef("UseSession %s", task.Session) }

func (r *fakeRows) ForgetEnded(session string) error {
	return r.wrotef("ForgetEnded %s", session)
}

func (r *fakeRows) ExtendSessions(owner string, _ time.Duration) (int, error) {
	if err := r.ask("ExtendSessions"); err != nil {
		return 0, err
	}
	r.triedf(r.held > 0, "ExtendSessions %s", owner)
	return r.held, nil
}

func (r *fakeRows) LeaveSessions(key provider.UUID) error {
	return r.wrotef("LeaveSessions %s", named(key))
}

func (r *fakeRows) EndSessions(ids []string) error { return r.wrotef("EndSessions %v", ids) }

// fastRows are rows with the optional interfaces.
type fastRows struct{ *fakeRows }

func (r fastRows) ReplaceTask(done provider.TaskRef, token provider.UUID, task *Task, _ *provider.NewTask) (bool, error) {
	if err := r.ask("ReplaceTask"); err != nil {
		return false, err
	}
	held := r.holds(done, token)
	if held {
		delete(r.tasks, done)
		r.tasks[task.TaskRef] = *task
	}
	return r.triedf(held, "ReplaceTask %s by %d:%s", taskName(done), task.EventID, r.changed(Task{TaskRef: task.TaskRef}, *task)), nil
}

func (r fastRows) InsertBegun(h *Head, req *provider.CreateRequest) error {
	return r.inserted("InsertBegun", h, req)
}
