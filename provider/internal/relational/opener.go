package relational

import (
	"context"

	"github.com/perdure/perdure/provider"
)

// OpenerRows are what only the opening of an execution from a prefix changes.
type OpenerRows interface {
	// ClearAttributes removes all attributes.
	ClearAttributes(key provider.UUID) error
	// SetRequests replaces what AddRequest has recorded.
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
		n.Inbox = []InboxNeed{{Key: req.Key, First: ClosingMessages}}
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
