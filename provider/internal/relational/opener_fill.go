package relational

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// fill stores the prefix that the new execution of a reset opens with, and moves what the old one leaves to it.
func (s steering) fill() error {
	t, h, req := s.t, s.h, s.from
	for _, link := range req.Children {
		if err := s.moveChild(link); err != nil {
			return err
		}
	}
	if err := (execution{t, h}).fill(&req.Prefix); err != nil {
		return err
	}
	return turnCommit{t, h, &provider.CommitTurnRequest{Sends: req.Notices}}.send()
}

// moveChild moves the parent link of a child, and the messages about it.
func (s steering) moveChild(link provider.ChildLink) error {
	t, h := s.t, s.h
	var moved int64
	if h.Inbox > 0 {
		var err error
		if moved, err = t.Rows.MoveMessages(h, link.EventID, h.Execution-1, h.Execution); err != nil {
			return err
		}
	}
	child, err := t.Head(link.Key)
	if err != nil {
		return err
	}
	if child.sendable("", link.Key) != nil || child.Parent.Key != h.Key || child.Parent.EventID != link.EventID {
		if moved > 0 {
			return nil
		}
		return fmt.Errorf("instance %q: no child %s of event %d runs: %w", h.ID, link.Key, link.EventID, provider.ErrConflict)
	}
	child.Parent.Execution, child.Version, child.UpdatedAt = h.Execution, s.from.ChildVersion(link), t.Now
	t.touch(child)
	return t.Rows.MoveChild(child)
}

// fill stores a prefix in an execution that has just been opened.
func (e execution) fill(p *provider.Prefix) error {
	t, h := e.t, e.h
	var first provider.Time
	if h.Inbox > 0 {
		var err error
		if first, err = t.Rows.FirstVisible(h.Key); err != nil {
			return err
		}
	}
	turn := turnCommit{t, h, p.Turn()}
	if err := turn.extend(false); err != nil {
		return err
	}
	box := inbox(e)
	for i := range p.Messages {
		m := &p.Messages[i]
		if err := t.raiseLevel(h, m.Message.EngineLevel); err != nil {
			return err
		}
		if _, err := box.put(&m.Message, m.Place(t.Now, first), false); err != nil {
			return err
		}
	}
	if err := t.Rows.ClearAttributes(h.Key); err != nil {
		return err
	}
	if err := t.Rows.SetRequests(h.Key, p.Seen); err != nil {
		return err
	}
	return turn.describe()
}
