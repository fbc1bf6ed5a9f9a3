package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// Unnumbered stands for the number of a kind that is not stored yet. Nothing is written with it.
const Unnumbered = -1

// turnNumber returns the number of a kind, which it stores if it is new. It refuses a kind without a name: no node could
// ever fetch an instance of it.
func turnNumber(rows Rows, kind TurnKind) (int64, error) {
	if kind.Name == "" {
		return 0, fmt.Errorf("%w: the instance has lost the name of its orchestration: 'perdure doctor --repair' gives it back", provider.ErrInvalid)
	}
	kinds, err := rows.Kinds()
	if err != nil {
		return 0, err
	}
	if id, ok := kinds.turns[kind]; ok {
		return id, nil
	}
	return rows.NewTurnKind(kind)
}

// taskNumber returns the number of a kind of task, which it stores if it is new.
func taskNumber(rows Rows, kind TaskKind) (int64, error) {
	kinds, err := rows.Kinds()
	if err != nil {
		return 0, err
	}
	if id, ok := kinds.tasks[kind]; ok {
		return id, nil
	}
	return rows.NewTaskKind(kind)
}

// turnKind returns the kind with a number. A number that is not known yet is read.
func turnKind(rows Rows, id int64) (TurnKind, error) {
	kinds, err := rows.Kinds()
	if err != nil {
		return TurnKind{}, err
	}
	kind, known := kinds.ByTurn[id]
	if !known {
		return kind, rows.Unknown(id)
	}
	return kind, nil
}

// StoredTask returns the kind of a task by its number. A number that is not known yet is read.
func StoredTask(rows Rows, id int64) (TaskKind, error) {
	kinds, err := rows.Kinds()
	if err != nil {
		return TaskKind{}, err
	}
	kind, known := kinds.ByTask[id]
	if !known {
		return kind, rows.Unknown(id)
	}
	return kind, nil
}

// NoKind returns the error for a row with the number of a kind that is not stored.
func NoKind(id int64) error { return fmt.Errorf("%w: kind %d is not stored", ErrRow, id) }
