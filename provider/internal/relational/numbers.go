package relational

// turnNumber returns the number of a kind, which it stores if it is new.
func turnNumber(rows Rows, kind TurnKind) (int64, error) {
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

// turnKind returns the kind with a number.
func turnKind(rows Rows, id int64) (TurnKind, error) {
	kinds, err := rows.Kinds()
	if err != nil {
		return TurnKind{}, err
	}
	return kinds.ByTurn[id], nil
}
