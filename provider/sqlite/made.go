package sqlite

import (
	"slices"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// made is what the row of an instance holds beside its head, kept of instances that this process has made: its first turn is claimed
// and its end is told without reading the row, which is the dearest read there is.
type made struct {
	head    *relational.Head
	request string
	created provider.Time
	result  []byte // the caller's: only until the transaction that stores it ends
}

// keep remembers an instance that is inserted.
func (t *tx) keep(h *relational.Head, req *provider.CreateRequest) {
	if !t.guest {
		t.made[h.Key] = &made{head: h, request: req.RequestID, created: t.Now}
	}
}

// recall answers the row of an instance without reading it; false if more is stored of it than is known.
func (t *tx) recall(key provider.UUID) (in provider.Instance, ok bool) {
	m := t.made[key]
	if m == nil || m.head != t.Heads[key] || m.head.Blocked {
		return in, false
	}
	h := m.head
	kind, ok := t.kinds.ByTurn[h.Kind]
	return provider.Instance{
		ID: h.ID, Key: h.Key, Name: kind.Name, CodeVersion: kind.CodeVersion, EngineLevel: kind.Level, Status: h.Status, Deleting: h.Deleting,
		Execution: h.Execution, Version: h.Version, HistoryLength: h.Length, HistoryBytes: h.Bytes, Parent: h.Parent, RequestID: m.request,
		CreatedAt: m.created, UpdatedAt: h.UpdatedAt, EndedAt: h.EndedAt, ReadyAt: h.ReadyAt, InboxMessages: h.Inbox, Deliveries: h.Deliveries,
		Result: slices.Clone(m.result),
	}, ok
}
