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
	results          []resultRow
	attributes       []attributeRow
	values           []valueRow
	blocked          []blockedRow
	unblocked        []provider.UUID
	heldTasks        []provider.UUID
	heads            []relational.Head
	used             []string // sessions
	leasedIn         []string // sessions of tasks that are handed off
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
	resultRow struct {
		keyBytes
		failure *relational.Failure // nil: none
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

// begin starts a member. rollback with its result drops the member's writes.
func (o *ops) begin() (before ops) {
	o.undo = o.undo[:0]
	return *o
}

// rollback drops the writes since before. The lists only grow until they are sent, so each old list is the beginning of its new one.
func (o *ops) rollback(before *ops) {
	undo := o.undo
	for _, u := range slices.Backward(undo) {
		u()
	}
	*o = *before
	o.undo = undo[:0]
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
	single := len(o.heads)+len(o.instances) == 1 && len(o.consumed) <= 1 && len(o.ended) <= 1 && len(o.history) <= 1 &&
		len(o.tasks) <= 1 && len(o.messages) <= 1 && len(o.noTasks) <= 1 && len(o.results) <= 1
	if !single || o.hasOthers() {
		return false
	}
	begun := func(r newInstance) bool { return r.begun && r.req.Parent.Key.IsZero() }
	return !slices.ContainsFunc(o.instances, func(r newInstance) bool { return !begun(r) }) &&
		!slices.ContainsFunc(o.tasks, func(t newTask) bool { return !t.handedOff() })
}

// hasOthers reports whether there are writes that no single step has.
func (o *ops) hasOthers() bool {
	return len(o.retired)+len(o.taskDeadLetters)+len(o.changed)+len(o.noTimers)+len(o.inboxDeadLetters)+len(o.executions)+
		len(o.custom)+len(o.attributes)+len(o.values)+len(o.blocked)+len(o.unblocked)+len(o.heldTasks)+len(o.used)+len(o.leasedIn)+
		len(o.listeners)+len(o.erased)+len(o.leaveSessions)+len(o.endedSessions) > 0
}
