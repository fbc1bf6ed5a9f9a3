package relational

import "github.com/perdure/perdure/provider"

// Kinds are small numbers for what fetches filter by: an orchestration's (name, version,
// engine level), and a task's (queue, name, priority). They make indexes narrow and a
// fetch a few exact look-ups. A kind is never removed.
type Kinds struct {
	ByTurn   map[int64]TurnKind
	ByCap    map[provider.Capability][]int64
	ByTask   map[int64]TaskKind
	ByFilter map[TaskFilter][]int64
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
}

// TaskFilter is what a fetch of tasks names.
type TaskFilter struct{ Queue, Name string }

// NewKinds makes an empty set.
func NewKinds() *Kinds {
	return &Kinds{
		turns: make(map[TurnKind]int64), ByTurn: make(map[int64]TurnKind), ByCap: make(map[provider.Capability][]int64),
		tasks: make(map[TaskKind]int64), ByTask: make(map[int64]TaskKind), ByFilter: make(map[TaskFilter][]int64),
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
