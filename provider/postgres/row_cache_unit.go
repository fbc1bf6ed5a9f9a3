package postgres

import (
	"time"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// fill gives a unit all that the calls of a group will read. It returns false if something is unknown. It assumes that
// an instance which is to be created does not exist.
func (w *rowCache) fill(u *unit, group []*relational.Member) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.uncachedGroups > 0 {
		w.uncachedGroups--
		return false
	}
	for _, m := range group {
		if len(m.Needs.Peek)+len(m.Needs.Lanes) > 0 || len(m.Needs.Tasks) > m.Needs.Completes {
			return false
		}
		for _, key := range m.Needs.Keys {
			w.fillHead(u, key)
		}
		for _, id := range m.Needs.IDs {
			key := w.ids[id]
			u.ids[id] = key
			if !key.IsZero() {
				w.fillHead(u, key)
			}
		}
		for _, ref := range m.Needs.Tasks {
			task := w.tasks[ref]
			if task == nil {
				return false
			}
			u.tasks[ref] = task // nobody changes it
		}
	}
	for _, m := range group {
		for _, need := range m.Needs.Inbox {
			if u.inbox[need.Key] == nil {
				return false
			}
		}
	}
	return true
}

func (w *rowCache) fillHead(u *unit, key provider.UUID) {
	if _, known := u.rows[key]; known {
		return
	}
	u.rows[key] = nil
	m := w.heads[key]
	if m == nil || time.Since(m.at) > cacheTTL {
		return
	}
	u.rows[key] = &m.stored
	u.cached[key] = m
	if m.own != nil {
		u.own[key] = m.own
	}
	if m.inbox != nil {
		u.inbox[key] = m.inbox.copied()
	}
}

// update takes over what a unit wrote, after its commit. It removes what a claim of the same transaction took. That
// is no longer as the unit left it but has the same transaction ID. The claim itself caches it again.
func (w *rowCache) update(u *unit, t *relational.Tx, xid uint32, claimed []provider.Turn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range claimed {
		delete(u.wrote, claimed[i].Instance.Key)
		w.remove(claimed[i].Instance.Key)
	}
	for key := range u.wrote {
		head, row := t.Heads[key], u.rows[key]
		if head == nil || row == nil || head.Status.Ended() || head.Deleting {
			w.remove(key)
			continue
		}
		m := &cachedRow{stored: stored{Head: *head, request: row.request, current: row.current}, own: u.own[key], xid: xid, at: time.Now()}
		m.inbox = u.inbox[key].remaining(head)
		if was := u.cached[key]; was != nil && !u.described[key] {
			m.row, m.waiting = was.row, u.cacheableMessages(head)
		}
		w.put(m)
	}
	for ref, task := range u.tasks {
		w.putTask(ref, task)
	}
}
