package relational

import "github.com/perdure/perdure/provider"

// Kinds are small numbers for what fetches filter by: an orchestration's (name, version,
// engine level), and a task's (queue, name, priority, class). They make indexes narrow and a
// fetch a few exact look-ups. A kind is never removed.
type Kinds struct {
	ByTurn   map[int64]TurnKind
	ByCap    map[provider.Capability][]int64
	ByTask   map[int64]TaskKind
	ByFilter map[TaskFilter][]int64
	sessions []int64            // kinds of tasks that belong to a session
	queues   map[string][]int64 // kinds of tasks by queue
	limited  map[string]bool    // queues
	turns    map[TurnKind]int64
	tasks    map[TaskKind]int64
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

// TaskClass tells what a claim has to know of a task beside its filter. The zero class is plain.
type TaskClass int64

// The classes are flags.
const (
	Ranked    TaskClass = 1 << iota // waits for its first lease with a rank that fairness gave it
	InSession                       // belongs to a session
	Limited                         // no task is of it: it says, with an empty name, that fetches limit the queue
)

// classStep is what each class adds to the priority where a kind is stored: there is no column for it.
const classStep = 16

// StoredPriority is what is stored of a kind's priority and class.
func (k TaskKind) StoredPriority() int64 { return k.Priority + classStep*int64(k.Class) }

// StoredTaskKind answers a kind as it was stored.
func StoredTaskKind(queue, name string, priority int64) TaskKind {
	return TaskKind{TaskFilter{queue, name}, priority % classStep, TaskClass(priority / classStep)}
}

// Bonus is how much earlier a task of the kind ranks than one of the default priority, in microseconds.
func (k TaskKind) Bonus() int64 {
	return (provider.PriorityDefault - k.Priority) * provider.PriorityStep.Microseconds()
}

// TaskFilter is what a fetch of tasks names.
type TaskFilter struct{ Queue, Name string }

// NewKinds makes an empty set.
func NewKinds() *Kinds {
	return &Kinds{
		turns: make(map[TurnKind]int64), ByTurn: make(map[int64]TurnKind), ByCap: make(map[provider.Capability][]int64),
		queues: make(map[string][]int64), limited: make(map[string]bool), tasks: make(map[TaskKind]int64),
		ByTask: make(map[int64]TaskKind), ByFilter: make(map[TaskFilter][]int64),
	}
}

// AddTurn adds a stored kind.
func (k *Kinds) AddTurn(id int64, kind TurnKind) {
	if _, ok := k.turns[kind]; ok {
		return
	}
	k.turns[kind], k.ByTurn[id] = id, kind
	k.ByCap[kind.Capability] = append(k.ByCap[kind.Capability], id)
}

// AddTask adds a stored kind of task.
func (k *Kinds) AddTask(id int64, kind TaskKind) {
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

// Unranked answers the kind that tasks of a kind have once they were leased.
func (k *Kinds) Unranked(id int64) int64 {
	kind := k.ByTask[id]
	kind.Class &^= Ranked
	if plain, ok := k.tasks[kind]; ok {
		return plain
	}
	return id
}

// Sessions tells whether any task may belong to a session.
func (k *Kinds) Sessions() bool { return len(k.sessions) > 0 }

// Awaited tells whether somebody may wait for the end of a lease of the kind: those who keep to the limit of its queue, or want its session.
func (k *Kinds) Awaited(id int64) bool {
	kind, known := k.ByTask[id]
	return !known || kind.Class&InSession != 0 || k.limited[kind.Queue]
}

// Limit answers the kind that says that a queue is limited, and whether it is stored.
func (k *Kinds) Limit(queue string) (kind TaskKind, known bool) {
	return TaskKind{TaskFilter: TaskFilter{Queue: queue}, Priority: provider.PriorityDefault, Class: Limited}, k.limited[queue]
}

// Near answers the kinds of the queues that a fetch limits, and of sessions if it claims any: what ends there may let it go on.
func (k *Kinds) Near(req *provider.FetchTasksRequest) (ids []int64, queues []string) {
	limits := Limits(req)
	for queue := range limits {
		for _, id := range k.queues[queue] {
			ids, queues = append(ids, id), append(queues, queue)
		}
	}
	if req.Sessions.Max == 0 {
		return ids, queues
	}
	for _, id := range k.sessions {
		queue := k.ByTask[id].Queue
		if _, limited := limits[queue]; !limited {
			ids, queues = append(ids, id), append(queues, queue)
		}
	}
	return ids, queues
}

// turnKind answers the number of a kind, new or known.
func (t *Tx) turnKind(kind TurnKind) (int64, error) {
	kinds, err := t.Rows.Kinds()
	if err != nil {
		return 0, err
	}
	if id, ok := kinds.turns[kind]; ok {
		return id, nil
	}
	return t.Rows.NewTurnKind(kind)
}

func (t *Tx) taskKind(kind TaskKind) (int64, error) {
	kinds, err := t.Rows.Kinds()
	if err != nil {
		return 0, err
	}
	if id, ok := kinds.tasks[kind]; ok {
		return id, nil
	}
	return t.Rows.NewTaskKind(kind)
}

// kindOf answers what a number stands for.
func (t *Tx) kindOf(id int64) (TurnKind, error) {
	kinds, err := t.Rows.Kinds()
	if err != nil {
		return TurnKind{}, err
	}
	return kinds.ByTurn[id], nil
}
