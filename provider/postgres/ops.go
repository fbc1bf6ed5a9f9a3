package postgres

import (
	"cmp"
	"maps"
	"slices"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// ops are the writes that a unit holds back, a list for each statement that will make them.
type ops struct {
	retired    []provider.UUID
	instances  []newInstance
	eaten      []messageRef
	buried     []taskLetter
	ended      []endedTask
	history    []historyRow
	tasks      []newTask
	changed    []changedTask
	messages   []messageRow
	noTimers   []executionRef
	letters    []inboxLetter
	noTasks    []executionRef
	executions []executionRow
	custom     []keyBytes
	results    []keyBytes
	attributes []attributeRow
	values     []valueRow
	blocked    []blockedRow
	unblocked  []provider.UUID
	heldTasks  []provider.UUID
	heads      []relational.Head
	used       []string // sessions
	undo       []func() // takes back what the member that runs changed in the unit's memory
}

type (
	newInstance struct {
		head    relational.Head
		req     *provider.CreateRequest
		created provider.Time
		begun   bool // with its first turn
	}
	messageRef struct {
		key provider.UUID
		id  int64
	}
	messageRow struct {
		relational.Message
		key provider.UUID
	}
	endedTask struct {
		provider.TaskRef
		token provider.UUID
	}
	taskLetter struct {
		ref      provider.TaskRef
		kind     relational.TaskKind
		instance string
		reason   string
		at       provider.Time
	}
	inboxLetter struct {
		key      provider.UUID
		instance string
		reason   string
		at       provider.Time
	}
	historyRow struct {
		key                      provider.UUID
		execution, first, events int64
		data                     []byte
	}
	newTask struct {
		relational.Task
		stored      *provider.NewTask
		scheduledAt provider.Time
	}
	changedTask struct {
		relational.Task
		details []byte
	}
	executionRef struct {
		key       provider.UUID
		execution int64
	}
	executionRow struct {
		executionRef
		status provider.Status
		length int64
	}
	keyBytes struct {
		key  provider.UUID
		data []byte
	}
	attributeRow struct {
		provider.Attribute
		key provider.UUID
	}
	valueRow struct {
		provider.KeyValue
		key provider.UUID
	}
	blockedRow struct {
		key             provider.UUID
		reason, message string
		at              provider.Time
		fresh           bool
	}
)

// begin starts a member whose writes rollback can take back.
func (o *ops) begin() mark {
	o.undo = o.undo[:0]
	return o.lengths()
}

// lengths answers how many of each there are.
func (o *ops) lengths() mark {
	return mark{
		len(o.retired), len(o.instances), len(o.eaten), len(o.buried), len(o.ended), len(o.history), len(o.tasks),
		len(o.changed), len(o.messages), len(o.noTimers), len(o.letters), len(o.noTasks), len(o.executions), len(o.custom),
		len(o.results), len(o.attributes), len(o.values), len(o.blocked), len(o.unblocked), len(o.heldTasks), len(o.heads),
		len(o.used),
	}
}

// mark is how many of each there were.
type mark [22]int

// oneOfEach is how many of each a lone step may have: an instance, an eaten message, an ended task, a row of history, a task, a message, an
// execution without tasks, a result and a head.
//
//nolint:gochecknoglobals // constant
var oneOfEach = mark{1: 1, 2: 1, 4: 1, 5: 1, 6: 1, 8: 1, 11: 1, 14: 1, 20: 1}

// rollback forgets the writes since m.
func (o *ops) rollback(m mark) {
	for _, undo := range slices.Backward(o.undo) {
		undo()
	}
	o.undo = o.undo[:0]
	o.retired, o.instances, o.eaten, o.buried = o.retired[:m[0]], o.instances[:m[1]], o.eaten[:m[2]], o.buried[:m[3]]
	o.ended, o.history, o.tasks, o.changed = o.ended[:m[4]], o.history[:m[5]], o.tasks[:m[6]], o.changed[:m[7]]
	o.messages, o.noTimers, o.letters, o.noTasks = o.messages[:m[8]], o.noTimers[:m[9]], o.letters[:m[10]], o.noTasks[:m[11]]
	o.executions, o.custom, o.results = o.executions[:m[12]], o.custom[:m[13]], o.results[:m[14]]
	o.attributes, o.values, o.blocked = o.attributes[:m[15]], o.values[:m[16]], o.blocked[:m[17]]
	o.unblocked, o.heldTasks, o.heads = o.unblocked[:m[18]], o.heldTasks[:m[19]], o.heads[:m[20]]
	o.used = o.used[:m[21]]
}

func (o *ops) later(undo func()) { o.undo = append(o.undo, undo) }

// Kinds implements [relational.Rows].
func (u *unit) Kinds() (*relational.Kinds, error) { return u.p.kinds.get(), nil }

// NewTurnKind implements [relational.Rows]: a kind is stored by a transaction of its own,
// so that it stays if this one fails.
func (u *unit) NewTurnKind(kind relational.TurnKind) (int64, error) {
	if u.missing == nil {
		return 0, &needError{turns: []relational.TurnKind{kind}}
	}
	if kind.Name != "" { // else it comes of one that is missing itself
		u.missing.turns = append(u.missing.turns, kind)
	}
	return 0, nil // nothing of the call will be written
}

// NewTaskKind implements [relational.Rows].
func (u *unit) NewTaskKind(kind relational.TaskKind) (int64, error) {
	if u.missing == nil {
		return 0, &needError{tasks: []relational.TaskKind{kind}}
	}
	u.missing.tasks = append(u.missing.tasks, kind)
	return 0, nil
}

// InsertInstance implements [relational.Rows].
func (u *unit) InsertInstance(h *relational.Head, req *provider.CreateRequest) error {
	u.insert(h, req, false)
	return nil
}

// InsertBegun implements [relational.BirthRows].
func (u *unit) InsertBegun(h *relational.Head, req *provider.CreateRequest) error {
	u.insert(h, req, true)
	for i := range u.ops.messages { // the timers of the turn
		if m := &u.ops.messages[i]; m.key == h.Key {
			u.inbox[h.Key].put(&m.Message)
		}
	}
	return nil
}

func (u *unit) insert(h *relational.Head, req *provider.CreateRequest, begun bool) {
	u.ops.instances = append(u.ops.instances, newInstance{*h, req, h.UpdatedAt, begun})
	before, known := u.rows[h.Key]
	old, hadID := u.ids[h.ID]
	u.rows[h.Key] = &stored{Head: *h, request: req.RequestID, current: true}
	u.own[h.Key] = &ownRow{created: h.UpdatedAt}
	u.ids[h.ID] = h.Key
	u.inbox[h.Key] = &inbox{complete: true}
	_, wrote := u.wrote[h.Key]
	u.wrote[h.Key] = struct{}{}
	u.ops.later(func() {
		if !wrote {
			delete(u.wrote, h.Key)
		}
		delete(u.inbox, h.Key)
		delete(u.own, h.Key)
		delete(u.rows, h.Key)
		if known {
			u.rows[h.Key] = before
		}
		delete(u.ids, h.ID)
		if hadID {
			u.ids[h.ID] = old
		}
	})
}

// Retire implements [relational.Rows].
func (u *unit) Retire(key provider.UUID) error {
	u.ops.retired = append(u.ops.retired, key)
	return nil
}

// StoreHead implements [relational.Rows].
func (u *unit) StoreHead(h *relational.Head) error {
	if h.FetchAt = h.Ready(); h.FetchAt != 0 && h.LeaseUntil != 0 {
		h.FetchAt = max(h.FetchAt, provider.Time(h.LeaseUntil))
	}
	if u.ops.heads == nil {
		u.ops.heads = make([]relational.Head, 0, len(u.view.Heads))
	}
	u.ops.heads = append(u.ops.heads, *h)
	u.wrote[h.Key] = struct{}{}
	return nil
}

// Block implements [relational.Rows].
func (u *unit) Block(key provider.UUID, f *provider.TurnFailure, now provider.Time, fresh bool) error {
	u.described[key] = true
	u.ops.blocked = append(u.ops.blocked, blockedRow{key, f.Reason, f.Message, now, fresh})
	return nil
}

// ClearBlocked implements [relational.Rows].
func (u *unit) ClearBlocked(key provider.UUID) error {
	u.described[key] = true
	u.ops.unblocked = append(u.ops.unblocked, key)
	return nil
}

// SetCustomStatus implements [relational.Rows].
func (u *unit) SetCustomStatus(key provider.UUID, status []byte) error {
	u.described[key] = true
	if len(status) == 0 {
		status = nil
	}
	u.disown(key)
	u.ops.custom = append(u.ops.custom, keyBytes{key, status})
	return nil
}

// SetResult implements [relational.Rows].
func (u *unit) SetResult(key provider.UUID, result []byte) error {
	u.described[key] = true
	if before := u.own[key]; before != nil {
		u.own[key] = &ownRow{before.created, result}
		u.ops.later(func() { u.own[key] = before })
	}
	u.ops.results = append(u.ops.results, keyBytes{key, result})
	return nil
}

// SetAttributes implements [relational.Rows].
func (u *unit) SetAttributes(key provider.UUID, list []provider.Attribute) error {
	u.described[key] = true
	u.disown(key)
	for _, a := range list {
		u.ops.attributes = append(u.ops.attributes, attributeRow{a, key})
	}
	return nil
}

// SetValue implements [relational.Rows].
func (u *unit) SetValue(key provider.UUID, v provider.KeyValue) error {
	u.ops.values = append(u.ops.values, valueRow{v, key})
	return nil
}

// PutMessage implements [relational.Rows].
func (u *unit) PutMessage(key provider.UUID, m *relational.Message) error {
	u.ops.messages = append(u.ops.messages, messageRow{*m, key})
	box := u.inbox[key]
	if box == nil {
		return nil
	}
	before := *box
	u.ops.later(func() { *box = before })
	if m.Timer {
		u.ops.later(func() { delete(box.events, m.EventID) })
	}
	box.put(m)
	return nil
}

// put adds a message where it stands, as far as that is known.
func (b *inbox) put(m *relational.Message) {
	w := relational.Waiting{Place: m.Place, Bytes: int64(len(m.Payload)), Timer: m.Timer, Execution: m.Execution}
	i, _ := slices.BinarySearchFunc(b.list, w, func(a, b relational.Waiting) int {
		return cmp.Or(cmp.Compare(a.VisibleAt, b.VisibleAt), cmp.Compare(a.ID, b.ID))
	})
	if m.Timer {
		b.note(m.EventID, m.ID)
	}
	if b.complete || i < b.first {
		if i < len(b.list) {
			b.list = slices.Clone(b.list) // a copy of the inbox as it was must stay as it is
		}
		b.list = slices.Insert(b.list, i, w)
		b.first++
	}
}

// note notes the message of a timer.
func (b *inbox) note(event, id int64) {
	if b.shared || b.events == nil {
		events := make(map[int64]int64, len(b.events)+1)
		maps.Copy(events, b.events)
		b.events, b.shared = events, false
	}
	b.events[event] = id
}

// RemoveMessages implements [relational.Rows].
func (u *unit) RemoveMessages(key provider.UUID, meal relational.Meal) error {
	for _, place := range meal.Places {
		u.eat(key, place.ID)
	}
	return nil
}

func (u *unit) eat(key provider.UUID, id int64) {
	u.ops.eaten = append(u.ops.eaten, messageRef{key, id})
	box := u.inbox[key]
	if box == nil {
		return
	}
	if box.removed == nil {
		box.removed = make(map[int64]struct{})
	}
	box.removed[id] = struct{}{}
	u.ops.later(func() { delete(box.removed, id) })
}

// RemoveTimer implements [relational.Rows].
func (u *unit) RemoveTimer(key provider.UUID, _, event int64) (bytes int64, found bool, err error) {
	box, err := u.box(key)
	if err != nil {
		return 0, false, err
	}
	id, ok := box.events[event]
	if !ok {
		return 0, false, nil
	}
	if _, gone := box.removed[id]; gone {
		return 0, false, nil
	}
	i := slices.IndexFunc(box.list, func(w relational.Waiting) bool { return w.ID == id })
	u.eat(key, id)
	return box.list[i].Bytes, true, nil
}

// RemoveTimers implements [relational.Rows].
func (u *unit) RemoveTimers(key provider.UUID, execution int64) error {
	u.ops.noTimers = append(u.ops.noTimers, executionRef{key, execution})
	box := u.inbox[key]
	if box == nil {
		return nil
	}
	before := *box
	u.ops.later(func() { *box = before })
	kept := make([]relational.Waiting, 0, len(box.list))
	for i, w := range box.list {
		if !w.Timer || w.Execution != execution {
			kept = append(kept, w)
		} else if i < before.first {
			box.first--
		}
	}
	box.list = kept
	return nil
}

// BuryInbox implements [relational.Rows].
func (u *unit) BuryInbox(h *relational.Head, reason string, now provider.Time) error {
	u.ops.letters = append(u.ops.letters, inboxLetter{h.Key, h.ID, reason, now})
	return nil
}

// AppendEvents implements [relational.Rows].
func (u *unit) AppendEvents(h *relational.Head, count int, packed []byte) error {
	row := historyRow{h.Key, h.Execution, h.Length + 1, int64(count), slices.Clone(packed)}
	u.ops.history = append(u.ops.history, row)
	return nil
}

// AddExecution implements [relational.Rows].
func (u *unit) AddExecution(key provider.UUID, execution int64, status provider.Status, length int64) error {
	u.ops.executions = append(u.ops.executions, executionRow{executionRef{key, execution}, status, length})
	return nil
}
