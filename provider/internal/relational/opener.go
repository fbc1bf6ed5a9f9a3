package relational

import (
	"context"
	"fmt"

	"github.com/perdure/perdure/provider"
)

// OpenerRows are what only the opening of an execution from a prefix changes.
type OpenerRows interface {
	// ClearAttributes removes all attributes.
	ClearAttributes(key provider.UUID) error
	// SetRequests replaces what Remember has recorded.
	SetRequests(key provider.UUID, requests []string) error
	// MoveMessages gives another execution to the messages, other than timers, that concern an event. It returns how many.
	MoveMessages(h *Head, event, from, to int64) (int64, error)
	// MoveChild stores the parent link of a head.
	MoveChild(h *Head) error
}

// Reset implements [provider.Opener].
func (c Calls) Reset(ctx context.Context, req provider.ResetRequest) (provider.SteerResult, error) {
	m := &Member{Op: "reset", Bytes: len(req.Event) + prefixBytes(&req.Prefix), Needs: resetNeeds(&req)}
	return call(ctx, c, req.Validate(), m, func(t *Tx, res *provider.SteerResult) error { return t.ResetTo(&req, res) })
}

// Fork implements [provider.Opener].
func (c Calls) Fork(ctx context.Context, req provider.ForkRequest) (provider.CreateResult, error) {
	m := &Member{Op: "fork", Bytes: prefixBytes(&req.Prefix), Needs: CreateNeeds(&req.Create)}
	return call(ctx, c, req.Validate(), m, func(t *Tx, res *provider.CreateResult) error { return t.Fork(&req, res) })
}

// prefixBytes estimates how much a prefix adds to its group.
func prefixBytes(p *provider.Prefix) int {
	n := commitBytes(p.Turn())
	for i := range p.Messages {
		n += len(p.Messages[i].Message.Payload)
	}
	return n
}

func resetNeeds(req *provider.ResetRequest) Needs {
	n := NamedNeeds(req.ID, req.Key)
	if !req.Key.IsZero() {
		n.Inbox = []InboxNeed{{Key: req.Key, First: ClosingLook}}
	}
	for _, link := range req.Children {
		n.Keys = append(n.Keys, link.Key)
	}
	for i := range req.Notices {
		more := NamedNeeds(req.Notices[i].ID, req.Notices[i].Key)
		n.Keys, n.IDs = append(n.Keys, more.Keys...), append(n.IDs, more.IDs...)
	}
	turn := CommitNeeds(req.Prefix.Turn())
	n.Lanes = turn.Lanes
	return n
}

// ResetTo closes the current execution and opens the next one from a prefix.
func (t *Tx) ResetTo(req *provider.ResetRequest, res *provider.SteerResult) error {
	as := provider.SteerRequest{
		ID: req.ID, Key: req.Key, Action: provider.SteerReset, Commit: req.Commit, Expected: req.Expected, RequestID: req.RequestID,
		Event: req.Event, EngineLevel: req.EngineLevel,
	}
	return t.steer(&as, req, res)
}

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

// Fork stores a new instance that opens from a prefix.
func (t *Tx) Fork(req *provider.ForkRequest, res *provider.CreateResult) error {
	n := insertion{t, &req.Create}
	existing, err := n.admit()
	if err != nil {
		return err
	}
	key := req.Create.Key
	if existing != nil { // a repeat
		key = existing.Key
	} else if err := n.open(&req.Prefix); err != nil {
		return err
	}
	res.Created, res.Now = true, t.Now
	res.Instance, err = t.Row(key)
	return err
}

// open stores an admitted instance without a start message. It is ready at once.
func (n insertion) open(p *provider.Prefix) error {
	t := n.t
	h, err := n.head(n.req.EngineLevel)
	if err != nil {
		return err
	}
	h.NextMessage, h.UpdatedAt, h.ReadyAt, h.FetchAt = 1, t.Now, t.Now, t.Now
	t.Changes++
	if err := t.Rows.InsertInstance(h, n.req); err != nil {
		return err
	}
	t.adopt(h)
	t.stored(h)
	t.TouchWide(h) // the row was inserted as if it had a start message
	if err := (execution{t, h}).fill(p); err != nil {
		return err
	}
	return n.describe(h)
}
