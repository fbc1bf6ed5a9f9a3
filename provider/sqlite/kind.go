package sqlite

import "github.com/perdure/perdure/provider/internal/relational"

const (
	sqlKinds     = `SELECT id, name, code_version, engine_level FROM perdure_kind`
	sqlTaskKinds = `SELECT id, queue, name, priority FROM perdure_task_kind`
	sqlNewKind   = `INSERT INTO perdure_kind (name, code_version, engine_level) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET name = excluded.name RETURNING id`
	sqlNewTaskKind = `INSERT INTO perdure_task_kind (queue, name, priority) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET name = excluded.name RETURNING id`
)

// Kinds implements [relational.Rows]: it reads them if something may have changed them.
func (t *tx) Kinds() (*relational.Kinds, error) {
	if t.current {
		return t.kinds, nil
	}
	kinds := relational.NewKinds()
	err := t.each(sqlKinds, func(r *row) error {
		kind := relational.TurnKind{Level: r.int(3)}
		kind.Name, kind.CodeVersion = r.text(1), r.text(2)
		kinds.AddTurn(r.int(0), kind)
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = t.each(sqlTaskKinds, func(r *row) error {
		kinds.AddTask(r.int(0), relational.StoredTaskKind(r.text(1), r.text(2), r.int(3)))
		return nil
	})
	if err == nil {
		t.kinds, t.current = kinds, true
	}
	return kinds, err
}

// NewTurnKind implements [relational.Rows].
func (t *tx) NewTurnKind(kind relational.TurnKind) (int64, error) {
	id, err := t.insertKind(sqlNewKind, kind.Name, kind.CodeVersion, kind.Level)
	if err == nil {
		t.kinds.AddTurn(id, kind)
	}
	return id, err
}

// NewTaskKind implements [relational.Rows].
func (t *tx) NewTaskKind(kind relational.TaskKind) (int64, error) {
	id, err := t.insertKind(sqlNewTaskKind, kind.Queue, kind.Name, kind.StoredPriority())
	if err == nil {
		t.kinds.AddTask(id, kind)
	}
	return id, err
}

func (t *tx) insertKind(sql string, args ...any) (id int64, err error) {
	t.Changes++
	err = t.each(sql, func(r *row) error { id = r.int(0); return nil }, args...)
	return id, err
}
