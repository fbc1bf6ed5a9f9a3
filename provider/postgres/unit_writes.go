package postgres

import (
	"slices"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// ops are the writes that a unit defers, a list for each statement that will make them.
type ops struct {
	retired          []provider.UUID
	instances        []newInstance
	consumed         []messageRef
	taskDeadLetters  []taskDeadLetter
	ended            []endedTask
	history          []historyRow
	tasks            []newTask
	changed          []changedTask
	messages         []messageRow
	noTimers         []executionRef
	inboxDeadLetters []inboxDeadLetter
	noTasks          []executionRef
	executions       []executionRow
	custom           []keyBytes
	results          []keyBytes
	attributes       []attributeRow
	values           []valueRow
	blocked          []blockedRow
	unblocked        []provider.UUID
	heldTasks        []provider.UUID
	heads            []relational.Head
	used             []string // sessions
	listeners        []listenerRow
	erased           []provider.UUID
	leaveSessions    []provider.UUID // instances that are over, whose sessions end
	endedSessions    []string
	undo             []func() // rolls back what the running member changed in the unit's memory
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
		added int // how many tasks were added before it ended
	}
	taskDeadLetter struct {
		ref      provider.TaskRef
		kind     relational.TaskKind
		instance string
		reason   string
		at       provider.Time
	}
	inboxDeadLetter struct {
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
		at     provider.Time
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

// begin starts a member whose writes rollback can undo.
func (o *ops) begin() mark {
	o.undo = o.undo[:0]
	return o.lengths()
}

// lengths returns how many of each there are.
func (o *ops) lengths() mark {
	return mark{
		len(o.retired), len(o.instances), len(o.consumed), len(o.taskDeadLetters), len(o.ended), len(o.history), len(o.tasks),
		len(o.changed), len(o.messages), len(o.noTimers), len(o.inboxDeadLetters), len(o.noTasks), len(o.executions), len(o.custom),
		len(o.results), len(o.attributes), len(o.values), len(o.blocked), len(o.unblocked), len(o.heldTasks), len(o.heads),
		len(o.used), len(o.listeners), len(o.erased), len(o.leaveSessions), len(o.endedSessions),
	}
}

// mark is how many of each there were.
type mark [26]int

// oneOfEach is how many of each a single step may have: an instance, a consumed message, an ended task, a row of history,
// a task, a message, an execution without tasks, a result and a head.
//
//nolint:gochecknoglobals // constant
var oneOfEach = mark{1: 1, 2: 1, 4: 1, 5: 1, 6: 1, 8: 1, 11: 1, 14: 1, 20: 1}

// rollback drops the writes since m.
func (o *ops) rollback(m mark) {
	for _, undo := range slices.Backward(o.undo) {
		undo()
	}
	o.undo = o.undo[:0]
	o.retired, o.instances, o.consumed, o.taskDeadLetters = o.retired[:m[0]], o.instances[:m[1]], o.consumed[:m[2]], o.taskDeadLetters[:m[3]]
	o.ended, o.history, o.tasks, o.changed = o.ended[:m[4]], o.history[:m[5]], o.tasks[:m[6]], o.changed[:m[7]]
	o.messages, o.noTimers, o.inboxDeadLetters, o.noTasks = o.messages[:m[8]], o.noTimers[:m[9]], o.inboxDeadLetters[:m[10]], o.noTasks[:m[11]]
	o.executions, o.custom, o.results = o.executions[:m[12]], o.custom[:m[13]], o.results[:m[14]]
	o.attributes, o.values, o.blocked = o.attributes[:m[15]], o.values[:m[16]], o.blocked[:m[17]]
	o.unblocked, o.heldTasks, o.heads = o.unblocked[:m[18]], o.heldTasks[:m[19]], o.heads[:m[20]]
	o.used, o.listeners, o.erased = o.used[:m[21]], o.listeners[:m[22]], o.erased[:m[23]]
	o.leaveSessions, o.endedSessions = o.leaveSessions[:m[24]], o.endedSessions[:m[25]]
}

// dropTaken drops the messages and tasks that a later call of the group has taken away again. All others are removed before these would be
// added.
func (o *ops) dropTaken() {
	if len(o.consumed) > 0 && len(o.messages) > 0 {
		consumed := make(map[messageRef]struct{}, len(o.consumed))
		for _, ref := range o.consumed {
			consumed[ref] = struct{}{}
		}
		o.messages = without(o.messages, func(m messageRow) bool {
			_, taken := consumed[messageRef{m.key, m.ID}]
			return taken
		})
	}
	if len(o.ended) > 0 && len(o.tasks) > 0 {
		added := make(map[provider.TaskRef]int, len(o.tasks))
		for i := range o.tasks {
			added[o.tasks[i].TaskRef] = i
		}
		ended := make(map[provider.TaskRef]struct{})
		for i := range o.ended {
			if at, ok := added[o.ended[i].TaskRef]; ok && at < o.ended[i].added {
				ended[o.ended[i].TaskRef] = struct{}{}
			}
		}
		o.tasks = without(o.tasks, func(t newTask) bool {
			_, taken := ended[t.TaskRef]
			return taken
		})
	}
}

// without returns rows without those that are taken. The list itself stays.
func without[Row any](rows []Row, taken func(Row) bool) []Row {
	if !slices.ContainsFunc(rows, taken) {
		return rows
	}
	return slices.DeleteFunc(slices.Clone(rows), taken)
}

func (o *ops) later(undo func()) { o.undo = append(o.undo, undo) }

// isSingleStep reports whether the writes are one instance, at most one row of everything else that fits into one
// statement, and nothing more.
func (o *ops) isSingleStep() bool {
	for i, n := range o.lengths() {
		if n > oneOfEach[i] {
			return false
		}
	}
	begun := func(r newInstance) bool { return r.begun && r.req.Parent.Key.IsZero() }
	return len(o.heads)+len(o.instances) == 1 && !slices.ContainsFunc(o.instances, func(r newInstance) bool { return !begun(r) }) &&
		!slices.ContainsFunc(o.tasks, func(t newTask) bool { return !t.handedOff() })
}
