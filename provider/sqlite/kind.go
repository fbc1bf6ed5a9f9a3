package sqlite

import "github.com/perdure/perdure/provider/internal/relational"

const (
	sqlKinds     = `SELECT id, name, code_version, engine_level FROM perdure_kind WHERE id > ? ORDER BY id`
	sqlTaskKinds = `SELECT id, queue, name, priority FROM perdure_task_kind WHERE id > ? ORDER BY id`
	sqlNewKind   = `INSERT INTO perdure_kind (name, code_version, engine_level) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET name = excluded.name RETURNING id`
	sqlNewTaskKind = `INSERT INTO perdure_task_kind (queue, name, priority) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET name = excluded.name RETURNING id`
)

// kindRows are the kinds of turns and of tasks.
type kindRows struct {
	*unit

	kinds    *relational.Kinds // as last read
	read     kindsRead
	allKinds bool // read those of tasks, too; a caller's transaction adds them without reading
}

// kindsRead is how much of the kinds of the file was read. A kind is never removed or changed, so only newer ones are read
// again.
type kindsRead struct {
	turn, task int64 // the newest
	current    bool  // nothing may have been added since
	added      bool  // the open transaction has added some
	rolledBack bool  // some were added by a transaction that was rolled back
}

// Kinds implements [relational.Rows]. It reads those that are new if there may be some.
func (t *kindRows) Kinds() (*relational.Kinds, error) {
	if t.read.current {
		return t.kinds, nil
	}
	if t.read.rolledBack {
		t.kinds, t.read = relational.NewKinds(), kindsRead{added: t.read.added}
	}
	err := t.each(sqlKinds, func(r *row) error {
		kind := relational.TurnKind{Level: r.int(3)}
		kind.Name, kind.CodeVersion = r.text(1), r.text(2)
		if r.bad == nil {
			t.read.turn = r.int(0)
			t.kinds.AddTurn(t.read.turn, kind)
		}
		return nil
	}, t.read.turn)
	if err == nil && t.allKinds {
		err = t.each(sqlTaskKinds, func(r *row) error {
			kind := relational.StoredTaskKind(r.text(1), r.text(2), r.int(3))
			if r.bad == nil {
				t.read.task = r.int(0)
				t.kinds.AddTask(t.read.task, kind)
			}
			return nil
		}, t.read.task)
	}
	if err != nil {
		return nil, err
	}
	t.read.current = true
	return t.kinds, nil
}

// NewTurnKind implements [relational.Rows].
func (t *kindRows) NewTurnKind(kind relational.TurnKind) (int64, error) {
	id, err := t.insertKind(sqlNewKind, kind.Name, kind.CodeVersion, kind.Level)
	if err == nil {
		t.kinds.AddTurn(id, kind)
		t.read.turn = max(t.read.turn, id)
	}
	return id, err
}

// NewTaskKind implements [relational.Rows].
func (t *kindRows) NewTaskKind(kind relational.TaskKind) (int64, error) {
	id, err := t.insertKind(sqlNewTaskKind, kind.Queue, kind.Name, kind.StoredPriority())
	if err == nil {
		t.kinds.AddTask(id, kind)
		t.read.task = max(t.read.task, id)
	}
	return id, err
}

// Unknown implements [relational.Rows]. Kinds has all that are stored.
func (t *kindRows) Unknown(id int64) error { return relational.NoKind(id) }

func (t *kindRows) insertKind(sql string, args ...any) (id int64, err error) {
	t.Changes++
	t.read.added = true
	err = t.each(sql, func(r *row) error { id = r.int(0); return nil }, args...)
	return id, err
}

// forgetKinds makes Kinds read those that are new. Kinds that a rolled-back transaction has added are read afresh.
func (t *kindRows) forgetKinds() {
	t.read.current, t.read.rolledBack = false, t.read.rolledBack || t.read.added
}
