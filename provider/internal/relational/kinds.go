package relational

import "github.com/perdure/perdure/provider"

// Kinds are small numbers for the things that fetches filter by: an orchestration's (name, version, engine level), and a
// task's (queue, name, priority, class). They keep indexes narrow and make a fetch a few exact look-ups. A kind is never
// removed.
type Kinds struct {
	ByTurn   map[int64]TurnKind
	ByCap    map[provider.Capability][]int64
	ByTask   map[int64]TaskKind
	ByFilter map[TaskFilter][]int64
	sessions []int64            // kinds of tasks in sessions
	queues   map[string][]int64 // kinds of tasks by queue
	limited  map[string]bool    // queues

	NewestTurn, NewestTask int64 // the highest numbers
	turns                  map[TurnKind]int64
	tasks                  map[TaskKind]int64
}

// TurnKind is a kind of orchestration.
type TurnKind struct {
	provider.Capability
	Level int64
}

// TaskKind is a kind of task.
type TaskKind struct {
	TaskFilter
	Priority int64
	Class    TaskClass
}

// TaskClass is what a claim must know about a task in addition to its filter. The zero class is plain.
type TaskClass int64

// The classes are flags.
const (
	Ranked    TaskClass = 1 << iota // waits for its first lease, ranked by fairness
	InSession                       // is in a session
	Limited                         // has no tasks: with an empty name it records that fetches limit the queue
)

// classStep multiplies the class in the stored priority: the class has no column of its own.
const classStep = 16

// StoredPriority returns the kind's priority and class as one stored number.
func (k TaskKind) StoredPriority() int64 { return k.Priority + classStep*int64(k.Class) }

// StoredTaskKind returns the kind that was stored as these columns.
func StoredTaskKind(queue, name string, priority int64) TaskKind {
	return TaskKind{TaskFilter{queue, name}, priority % classStep, TaskClass(priority / classStep)}
}

// Bonus returns how much earlier a task of the kind ranks than one of the default priority, in microseconds.
func (k TaskKind) Bonus() int64 {
	return (provider.PriorityDefault - k.Priority) * provider.PriorityStep.Microseconds()
}

// TaskFilter is what a fetch of tasks filters by.
type TaskFilter struct{ Queue, Name string }

// NewKinds returns an empty set.
func NewKinds() *Kinds {
	return &Kinds{
		turns: make(map[TurnKind]int64), ByTurn: make(map[int64]TurnKind), ByCap: make(map[provider.Capability][]int64),
		queues: make(map[string][]int64), limited: make(map[string]bool), tasks: make(map[TaskKind]int64),
		ByTask: make(map[int64]TaskKind), ByFilter: make(map[TaskFilter][]int64),
	}
}

// AddTurn adds a stored kind.
func (k *Kinds) AddTurn(id int64, kind TurnKind) {
	k.NewestTurn = max(k.NewestTurn, id)
	if _, ok := k.turns[kind]; ok {
		return
	}
	k.turns[kind], k.ByTurn[id] = id, kind
	k.ByCap[kind.Capability] = append(k.ByCap[kind.Capability], id)
}

// AddTask adds a stored kind of task.
func (k *Kinds) AddTask(id int64, kind TaskKind) {
	k.NewestTask = max(k.NewestTask, id)
	if _, ok := k.tasks[kind]; ok {
		return
	}
	k.tasks[kind], k.ByTask[id] = id, kind
	k.ByFilter[kind.TaskFilter] = append(k.ByFilter[kind.TaskFilter], id)
	k.queues[kind.Queue] = append(k.queues[kind.Queue], id)
	if kind.Class&InSession != 0 {
		k.sessions = append(k.sessions, id)
	}
	if kind.Class&Limited != 0 {
		k.limited[kind.Queue] = true
	}
}

// Unranked returns the kind that tasks of a kind get with their first lease.
func (k *Kinds) Unranked(id int64) int64 {
	kind := k.ByTask[id]
	kind.Class &^= Ranked
	if plain, ok := k.tasks[kind]; ok {
		return plain
	}
	return id
}

// Sessions reports whether any task may be in a session.
func (k *Kinds) Sessions() bool { return len(k.sessions) > 0 }

// InSessions calls fn for each kind of tasks in sessions: their fetches may continue when a session ends.
func (k *Kinds) InSessions(fn func(id int64)) {
	for _, id := range k.sessions {
		fn(id)
	}
}

// Awaited reports whether a fetch may wait for the end of a lease of the kind: in a limited queue, or in a session.
func (k *Kinds) Awaited(id int64) bool {
	kind, known := k.ByTask[id]
	return !known || kind.Class&InSession != 0 || k.limited[kind.Queue]
}

// Limit returns the kind that records that a queue is limited, and whether it is stored.
func (k *Kinds) Limit(queue string) (kind TaskKind, known bool) {
	return TaskKind{TaskFilter: TaskFilter{Queue: queue}, Priority: provider.PriorityDefault, Class: Limited}, k.limited[queue]
}
