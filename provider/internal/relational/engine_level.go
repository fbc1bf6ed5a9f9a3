package relational

import "github.com/perdure/perdure/provider"

// raiseLevel raises the engine level of an instance within its execution.
func (t *Tx) raiseLevel(h *Head, level int64) error {
	if level == 0 {
		return nil
	}
	kind, err := turnKind(t.Rows, h.Kind)
	if err != nil || kind.Level >= level {
		return err
	}
	kind.Level = level
	number, err := turnNumber(t.Rows, kind)
	if err != nil {
		return err
	}
	h.Kind = number
	t.TouchWide(h)
	return nil
}

// levelAfter returns the level of the next execution. The messages that wait may need the level of the last one.
func levelAfter(h *Head, last, next int64) int64 {
	if h.Inbox > 0 {
		return max(last, next)
	}
	return next
}

// startLevel returns the level of a new instance. A first turn has consumed the messages and still needs it.
func startLevel(req *provider.CreateRequest) int64 {
	level := max(req.EngineLevel, req.Message.EngineLevel)
	for i := range req.Messages {
		level = max(level, req.Messages[i].EngineLevel)
	}
	return level
}
