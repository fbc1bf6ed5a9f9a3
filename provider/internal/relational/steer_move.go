package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// move gives the current execution another version of its code. Nodes of the old one lose the instance.
func (s steering) move() error {
	t, h := s.t, s.h
	kind, err := turnKind(t.Rows, h.Kind)
	if err != nil {
		return err
	}
	switch name := s.req.Name; {
	case name == "" || name == kind.Name:
	case kind.Name == "": // it was lost
		kind.Name = name
	default:
		return fmt.Errorf("instance %q: Name: %w: it is an instance of %q", h.ID, provider.ErrInvalid, kind.Name)
	}
	kind.CodeVersion, kind.Level = s.req.CodeVersion, max(kind.Level, s.req.EngineLevel)
	number, err := turnNumber(t.Rows, kind)
	if err != nil {
		return err
	}
	h.Kind, h.StickyOwner, h.StickyUntil = number, "", 0
	t.endTurnLease(h)
	return nil
}
