package relational

import (
	"slices"

	"github.com/perdure/perdure/provider"
)

// BirthRows are rows of a store that can insert an instance as its first turn leaves it. Others ignore the first turn of a create.
type BirthRows interface {
	// InsertBegun writes the row of an instance. The events, tasks and timers of the head were written before it.
	InsertBegun(h *Head, req *provider.CreateRequest) error
}

// bear stores a new instance with its first turn. The row is written once, when the turn has done what it does to the
// head, and before what may ask for the instance by its row.
func (t *Tx) bear(rows BirthRows, req *provider.CreateRequest) error {
	kind, err := t.turnKind(TurnKind{provider.Capability{Name: req.Name, CodeVersion: req.CodeVersion}, birthLevel(req)})
	if err != nil {
		return err
	}
	h := &Head{
		Key: req.Key, ID: req.ID, Kind: kind, Status: provider.StatusRunning, Execution: 1, Version: req.Commit, Parent: req.Parent,
		NextMessage: 2, // the start message was the first
	}
	t.Changes++
	t.adopt(h)
	turn := req.First
	if err := t.extend(h, turn, false); err != nil {
		return err
	}
	t.advance(h, turn)
	h.FetchAt = h.Ready()
	if err := rows.InsertBegun(h, req); err != nil {
		return err
	}
	h.dirty, h.Wide, h.Kept = false, false, false
	t.announce(h)
	if err := t.setAttributes(h.Key, req.Attributes); err != nil {
		return err
	}
	if err := t.sendAll(h, turn); err != nil {
		return err
	}
	return t.describe(h, turn)
}

// birthLevel is the engine level after the first turn.
func birthLevel(req *provider.CreateRequest) int64 {
	return max(req.EngineLevel, req.First.EngineLevel)
}

// begun tells whether the first turn of a request is the last commit of an instance.
func begun(in *provider.Instance, req *provider.CreateRequest) bool {
	return req.First != nil && in.Version == req.First.Commit
}

// describeBirth adds to the row of a new instance what its first turn tells observers.
func describeBirth(in *provider.Instance, req *provider.CreateRequest) {
	in.EngineLevel = birthLevel(req)
	in.Attributes = sortedAttributes(slices.Concat(req.Attributes, req.First.Attributes))
	if len(req.First.CustomStatus) > 0 {
		in.CustomStatus = slices.Clone(req.First.CustomStatus)
	}
}
