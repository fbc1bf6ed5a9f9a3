package relational

import (
	"slices"
	"strings"

	"github.com/perdure/perdure/provider"
)

// FirstTurnRows is implemented by rows that can insert an instance as its first turn leaves it.
// Other stores ignore the first turn of a create.
type FirstTurnRows interface {
	// InsertBegun writes the row of an instance. The events, tasks and timers of the head were written before it.
	InsertBegun(h *Head, req *provider.CreateRequest) error
}

// Create stores an instance, or returns the one that has the ID.
func (t *Tx) Create(req *provider.CreateRequest, res *provider.CreateResult) error {
	n := insertion{t, req}
	existing, err := n.admit()
	if err != nil {
		return err
	}
	if existing != nil {
		if res.Created = n.repeats(existing); !res.Created {
			err = n.join(existing)
		}
		if err == nil {
			res.Instance, err = t.Row(existing.Key)
		}
	} else {
		res.Created = true
		res.Instance, err = create(n)
	}
	if err != nil {
		return err
	}
	res.Now, res.Begun = t.Now, begun(&res.Instance, req)
	return nil
}

// create inserts an instance, with its first turn if the store can, and returns its row.
func create(n insertion) (provider.Instance, error) {
	var err error
	if rows, can := n.t.Rows.(FirstTurnRows); can && n.req.First != nil {
		err = begin(n, rows)
	} else {
		err = n.insert()
	}
	if err != nil {
		return provider.Instance{}, err
	}
	return created(n)
}

// begin stores an instance with its first turn. The row is written once: after the turn has changed the head, and
// before anything that refers to the row.
func begin(n insertion, rows FirstTurnRows) error {
	t, req := n.t, n.req
	h, err := n.head(beginLevel(req))
	if err != nil {
		return err
	}
	t.Changes++
	t.adopt(h)
	turn := turnCommit{t, h, req.First}
	if err := turn.forgetSessions(); err != nil {
		return err
	}
	if err := turn.extend(false); err != nil {
		return err
	}
	turn.advance()
	h.FetchAt = h.Ready()
	if err := rows.InsertBegun(h, req); err != nil {
		return err
	}
	t.stored(h)
	if err := n.describe(h); err != nil {
		return err
	}
	if err := turn.send(); err != nil {
		return err
	}
	return turn.describe()
}

// begun reports whether the first turn of a request is the last commit of an instance.
func begun(in *provider.Instance, req *provider.CreateRequest) bool {
	return req.First != nil && in.Version == req.First.Commit
}

// beginLevel returns the engine level after the first turn.
func beginLevel(req *provider.CreateRequest) int64 {
	return max(startLevel(req), req.First.EngineLevel)
}

// created returns the row as it was just written.
func created(n insertion) (provider.Instance, error) {
	req, h := n.req, n.t.Heads[n.req.Key]
	kind, err := turnKind(n.t.Rows, h.Kind)
	if err != nil {
		return provider.Instance{}, err
	}
	in := provider.Instance{
		ID: req.ID, Key: req.Key, Name: req.Name, CodeVersion: req.CodeVersion, Status: h.Status,
		Execution: h.Execution, Version: h.Version, HistoryLength: h.Length, HistoryBytes: h.Bytes, EngineLevel: kind.Level,
		Parent: req.Parent, RequestID: req.RequestID, Attributes: sortedAttributes(req.Attributes), CreatedAt: n.t.Now, UpdatedAt: h.UpdatedAt,
		ReadyAt: h.ReadyAt, InboxMessages: h.Inbox,
	}
	if begun(&in, req) {
		in.Attributes = sortedAttributes(slices.Concat(req.Attributes, req.First.Attributes))
		if len(req.First.CustomStatus) > 0 {
			in.CustomStatus = slices.Clone(req.First.CustomStatus)
		}
	}
	return in, nil
}

// sortedAttributes returns attributes as they are stored: by name, the last one of each name.
func sortedAttributes(list []provider.Attribute) []provider.Attribute {
	list = slices.Clone(list)
	slices.Reverse(list)
	slices.SortStableFunc(list, func(a, b provider.Attribute) int { return strings.Compare(a.Name, b.Name) })
	return slices.CompactFunc(list, func(a, b provider.Attribute) bool { return a.Name == b.Name })
}
