package sqlite

import "github.com/perdure/perdure/provider"

// Kinds are small numbers for what fetches filter by: an orchestration's (name, version,
// engine level), and a task's (queue, name, priority). They make the indexes narrow and a
// fetch a few exact look-ups. Rows of the two tables are never removed.
type kinds struct {
	loaded   bool
	turns    map[turnKind]int64
	byTurn   map[int64]turnKind
	byCap    map[provider.Capability][]int64
	tasks    map[taskKind]int64
	byTask   map[int64]taskKind
	byFilter map[taskFilter][]int64
}

type turnKind struct {
	provider.Capability
	level int64
}

type taskKind struct {
	taskFilter
	priority int64
}

type taskFilter struct{ queue, name string }

const (
	sqlKinds     = `SELECT id, name, code_version, engine_level FROM perdure_kind`
	sqlTaskKinds = `SELECT id, queue, name, priority FROM perdure_task_kind`
	sqlNewKind   = `INSERT INTO perdure_kind (name, code_version, engine_level) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET name = excluded.name RETURNING id`
	sqlNewTaskKind = `INSERT INTO perdure_task_kind (queue, name, priority) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET name = excluded.name RETURNING id`
)

// load reads all kinds if something may have changed them.
func (t *tx) loadKinds() error {
	k := &t.kinds
	if k.loaded {
		return nil
	}
	*k = kinds{
		turns: make(map[turnKind]int64), byTurn: make(map[int64]turnKind), byCap: make(map[provider.Capability][]int64),
		tasks: make(map[taskKind]int64), byTask: make(map[int64]taskKind), byFilter: make(map[taskFilter][]int64),
	}
	err := t.each(sqlKinds, func(r *row) error {
		k.addTurn(r.int(0), turnKind{provider.Capability{Name: r.text(1), CodeVersion: r.text(2)}, r.int(3)})
		return nil
	})
	if err != nil {
		return err
	}
	err = t.each(sqlTaskKinds, func(r *row) error {
		k.addTask(r.int(0), taskKind{taskFilter{r.text(1), r.text(2)}, r.int(3)})
		return nil
	})
	k.loaded = err == nil
	return err
}

func (k *kinds) addTurn(id int64, kind turnKind) {
	k.turns[kind], k.byTurn[id] = id, kind
	k.byCap[kind.Capability] = append(k.byCap[kind.Capability], id)
}

func (k *kinds) addTask(id int64, kind taskKind) {
	k.tasks[kind], k.byTask[id] = id, kind
	k.byFilter[kind.taskFilter] = append(k.byFilter[kind.taskFilter], id)
}

// turnKind answers the number of an orchestration's kind.
func (t *tx) turnKind(kind turnKind) (int64, error) {
	if err := t.loadKinds(); err != nil {
		return 0, err
	}
	if id, ok := t.kinds.turns[kind]; ok {
		return id, nil
	}
	id, err := t.insertKind(sqlNewKind, kind.Name, kind.CodeVersion, kind.level)
	if err == nil {
		t.kinds.addTurn(id, kind)
	}
	return id, err
}

// taskKind answers the number of a task's kind.
func (t *tx) taskKind(kind taskKind) (int64, error) {
	if err := t.loadKinds(); err != nil {
		return 0, err
	}
	if id, ok := t.kinds.tasks[kind]; ok {
		return id, nil
	}
	id, err := t.insertKind(sqlNewTaskKind, kind.queue, kind.name, kind.priority)
	if err == nil {
		t.kinds.addTask(id, kind)
	}
	return id, err
}

func (t *tx) insertKind(sql string, args ...any) (id int64, err error) {
	t.changes++
	err = t.each(sql, func(r *row) error { id = r.int(0); return nil }, args...)
	return id, err
}

// of answers the name of a kind of orchestration.
func (t *tx) kindOf(id int64) (turnKind, error) {
	if err := t.loadKinds(); err != nil {
		return turnKind{}, err
	}
	return t.kinds.byTurn[id], nil
}
