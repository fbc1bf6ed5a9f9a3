package relational

import "github.com/perdure/perdure/provider"

// execution is the current execution of an instance: its history, tasks and timers.
type execution struct {
	t *Tx
	h *Head
}

// append extends the history.
func (e execution) append(events [][]byte) error {
	if len(events) == 0 {
		return nil
	}
	t, h := e.t, e.h
	var bytes int64
	t.packed, bytes = PackEvents(t.packed, events)
	if err := t.Rows.AppendEvents(h, len(events), t.packed); err != nil {
		return err
	}
	h.Length += int64(len(events))
	h.Bytes += bytes
	t.touch(h)
	return nil
}

// clear removes the tasks and timers.
func (e execution) clear() error {
	if err := e.t.Rows.RemoveTasks(e.h.Key, e.h.Execution); err != nil {
		return err
	}
	e.t.Changes++
	e.t.notice(e.h.Key, e.h.Execution, 0)
	return inbox(e).removeTimers()
}

// end gives the instance its final status and removes what only a running one needs.
func (e execution) end(status provider.Status, result []byte, failure *Failure, reason string) error {
	t, h := e.t, e.h
	if err := e.clear(); err != nil {
		return err
	}
	if err := t.Rows.LeaveSessions(h.Key); err != nil {
		return err
	}
	if err := (inbox{t, h}).deadLetter(reason); err != nil {
		return err
	}
	if result != nil || failure != nil {
		if err := t.Rows.SetResult(h.Key, result, failure); err != nil {
			return err
		}
	}
	h.Status, h.EndedAt = status, t.Now
	h.ReadyAt = 0 // a reset may have made it ready without a message
	h.Blocked, h.RetryAt, h.Deliveries = false, 0, 0
	t.endTurnLease(h)
	t.MarkChanged(h.Key)
	return t.notifyListener(h)
}

// close records the execution as over and removes its tasks and timers, so that the next one can open.
func (e execution) close(status provider.Status) error {
	if err := e.t.Rows.AddExecution(e.h.Key, e.h.Execution, status, e.h.Length, e.t.Now); err != nil {
		return err
	}
	e.t.Changes++
	return e.clear()
}

// open begins the next execution.
func (e execution) open(kind TurnKind) error {
	h := e.h
	id, err := turnNumber(e.t.Rows, kind)
	if err != nil {
		return err
	}
	h.Kind, h.Execution, h.Length, h.Bytes = id, h.Execution+1, 0, 0
	e.t.TouchWide(h)
	return nil
}
