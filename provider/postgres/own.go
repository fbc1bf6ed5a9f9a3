package postgres

import (
	"slices"

	"github.com/perdure/perdure/provider"
)

// ownRow is what the row of an instance holds beside its head, of an instance that this process has made or fetched whole and that has neither
// attributes nor a custom status. Who waits for its end is handed the row without a read. It is never changed.
type ownRow struct {
	created provider.Time
	result  []byte
}

// disown is for what an ownRow does not hold.
func (u *unit) disown(key provider.UUID) {
	delete(u.own, key)
}

// owns tells whether ownInstance can answer: the end of an instance, and nothing else, is told with its row.
func (u *unit) owns(key provider.UUID) bool {
	h := u.view.Heads[key]
	return u.own[key] != nil && h != nil && h.Status.Ended() && !h.Deleting && !h.Blocked
}

// ownInstance is the row of an instance as the unit leaves it.
func (u *unit) ownInstance(key provider.UUID) *provider.Instance {
	row, own, h := u.rows[key], u.own[key], u.view.Heads[key]
	kind := u.p.kinds.get().ByTurn[h.Kind]
	return &provider.Instance{
		ID: h.ID, Key: h.Key, Name: kind.Name, CodeVersion: kind.CodeVersion, EngineLevel: kind.Level, Status: h.Status,
		Execution: h.Execution, Version: h.Version, HistoryLength: h.Length, HistoryBytes: h.Bytes, Parent: h.Parent, RequestID: row.request,
		CreatedAt: own.created, UpdatedAt: h.UpdatedAt, EndedAt: h.EndedAt, ReadyAt: h.ReadyAt, InboxMessages: h.Inbox,
		Deliveries: h.Deliveries, Result: slices.Clone(own.result),
	}
}

// asked tells whether a call of this process waits for the row of an instance, which must be read for it.
func (u *unit) asked(key provider.UUID) bool { return !u.owns(key) && u.p.hub.Watched(key) }
