package model

import (
	"slices"

	"github.com/perdure/perdure/provider"
)

// A world is what a sequence knows of the store so far. Later requests refer to it.
type world struct {
	source

	features provider.Features // of the subject
	keys     int               // made so far
	rows     []provider.Instance
	turns    []seenTurn
	tasks    []seenTask
	released map[provider.UUID]bool // versions of instances with a released turn
}

// A seenTurn is a fetched turn. Its messages have their numbers as IDs.
type seenTurn struct {
	provider.Turn

	token provider.UUID
}

// A seenTask is a leased task.
type seenTask struct {
	provider.TaskRef

	token   provider.UUID
	attempt int64
}

// newKey makes a key, rarely one that is in use. It never reuses the key of an instance that is gone.
func (w *world) newKey() provider.UUID {
	if len(w.rows) > 0 && w.odds(12) {
		return w.row().Key
	}
	w.keys++
	return named('K', w.keys)
}

// row draws a stored instance; there must be one.
func (w *world) row() provider.Instance { return w.rows[w.n(len(w.rows))] }

// key draws the key of an instance, rarely one that is gone or never existed.
func (w *world) key() provider.UUID {
	if len(w.rows) == 0 || w.odds(12) {
		return named('K', 1+w.n(w.keys+1))
	}
	return w.row().Key
}

// target names an instance by ID or by key.
func (w *world) target() (id string, key provider.UUID) {
	if w.odds(3) {
		return w.id(), key
	}
	return "", w.key()
}

func (w *world) parent() provider.Parent {
	if len(w.rows) == 0 || w.odds(2) {
		return provider.Parent{}
	}
	row := w.row()
	p := provider.Parent{Key: row.Key, ID: row.ID, Execution: row.Execution, EventID: w.event(), Close: provider.ClosePolicy(w.n(2))}
	if w.odds(12) {
		p.Key = w.key()
	}
	return p
}

func (w *world) create() provider.CreateRequest {
	req := provider.CreateRequest{
		ID: w.id(), Key: w.newKey(), Commit: w.commit(), Name: w.kind(), CodeVersion: pick(&w.source, "", "1"), EngineLevel: int64(w.n(3)),
		Policy: provider.IDPolicy(w.n(3)), RequestID: pick(&w.source, "", "", "", "r1", "r2"), Parent: w.parent(), Attributes: w.attributes(),
		Message: w.message(),
	}
	switch w.n(8) {
	case 5, 6:
		req.Messages = some(&w.source, 2, w.message)
	case 7:
		req.Listener = &provider.Listener{Key: w.key(), Message: w.message()}
		req.Listener.Message.Delay = pick(&w.source, 0, 0, long) // a short one would count from a later step
	}
	return req
}

// fresh reports whether the instance is unchanged since the turn was fetched.
func (w *world) fresh(turn seenTurn) bool {
	return slices.ContainsFunc(w.rows, func(i provider.Instance) bool { return i.Version == turn.Instance.Version })
}

// recentTurn draws a fetched turn, likely the last one; there must be one.
func (w *world) recentTurn() seenTurn {
	back := min(pick(&w.source, 0, 0, 0, 1, 2, 5), len(w.turns)-1)
	return w.turns[len(w.turns)-1-back]
}

// recentTask draws a leased task, likely a late one, rarely one that does not exist.
func (w *world) recentTask() seenTask {
	if len(w.tasks) == 0 || w.odds(12) {
		ref := provider.TaskRef{Key: w.key(), Execution: int64(1 + w.n(3)), EventID: w.event()}
		return seenTask{ref, w.token(), int64(1 + w.n(2))}
	}
	back := min(pick(&w.source, 0, 0, 0, 1, 2, 5), len(w.tasks)-1)
	task := w.tasks[len(w.tasks)-1-back]
	switch w.n(16) {
	case 14:
		task.token = w.token()
	case 15:
		task.attempt++
	}
	return task
}

// noteLeases notes the tasks that a commit has leased.
func (w *world) noteLeases(req *provider.CommitTurnRequest) {
	for _, t := range req.Tasks {
		if t.Lease != nil {
			ref := provider.TaskRef{Key: req.Key, Execution: req.Execution, EventID: t.EventID}
			w.tasks = append(w.tasks, seenTask{ref, t.Lease.Token, 1})
		}
	}
}
