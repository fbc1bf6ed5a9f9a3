package sqlite

import (
	"slices"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// A cachedRow is what the row of an instance holds besides its head, for instances that this process has created. So their first turn
// is claimed and their end is reported without reading the row, which is the most expensive read. Without this, a fetch of one turn
// is 7 statements and not 6.
type cachedRow struct {
	head    *relational.Head
	request string
	created provider.Time
	result  []byte // the caller's, valid until the transaction that stores it ends, as is the failure
	failure *relational.Failure
}

// cacheRow caches the row of an instance that is inserted.
func (t *instanceRows) cacheRow(h *relational.Head, req *provider.CreateRequest) {
	if t.rowCache != nil {
		t.rowCache[h.Key] = &cachedRow{head: h, request: req.RequestID, created: t.Now}
	}
}

// cachedInstance returns the row of an instance without reading it. It returns false if more is stored than is known.
func (t *instanceRows) cachedInstance(key provider.UUID) (in provider.Instance, ok bool) {
	m := t.rowCache[key]
	if m == nil || m.head != t.Heads[key] || m.head.Blocked {
		return in, false
	}
	h := m.head
	kinds, err := t.Rows.Kinds() // they were read when the instance was inserted
	if err != nil {
		return in, false
	}
	kind, ok := kinds.ByTurn[h.Kind]
	in = provider.Instance{Parent: h.Parent, RequestID: m.request, CreatedAt: m.created, Result: slices.Clone(m.result)}
	h.Describe(&in, kind)
	m.failure.Describe(&in)
	return in, ok
}
