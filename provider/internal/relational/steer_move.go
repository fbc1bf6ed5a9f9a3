package relational

// move gives the current execution another version of its code. Nodes of the old one lose the instance.
func (s steering) move() error {
	t, h := s.t, s.h
	kind, err := turnKind(t.Rows, h.Kind)
	if err != nil {
		return err
	}
	kind.CodeVersion, kind.Level = s.req.CodeVersion, max(kind.Level, s.req.EngineLevel)
	if h.Kind, err = turnNumber(t.Rows, kind); err != nil {
		return err
	}
	h.StickyOwner, h.StickyUntil = "", 0
	t.endTurnLease(h)
	return nil
}
