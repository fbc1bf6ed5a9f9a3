package sqlite

import (
	"fmt"

	"github.com/perdure/perdure/provider"
)

// maxHeads bounds how many heads are kept between transactions.
const maxHeads = 8192

// A head is the part of an instance's row that turns and messages work on. It stays
// cached between transactions while no other process has written.
type head struct {
	key         provider.UUID
	id          string
	kind        int64
	status      provider.Status
	deleting    bool
	execution   int64
	version     provider.UUID
	length      int64
	bytes       int64
	blocked     bool
	retryAt     provider.Time
	updatedAt   provider.Time
	endedAt     provider.Time
	readyAt     provider.Time
	inbox       int64
	inboxBytes  int64
	nextMessage int64
	deliveries  int64
	leaseToken  provider.UUID
	leaseOwner  string
	leaseUntil  int64
	stickyOwner string
	stickyUntil int64
	notBefore   provider.Time
	fetchAt     provider.Time // 0: a fetch may not take it

	dirty bool // the row must be written
	wide  bool // with the columns that indexes use
}

const sqlHead = `SELECT id, kind, status, deleting, execution, version, history_length, history_bytes, blocked,
	retry_at, updated_at, ended_at, ready_at, inbox_messages, inbox_bytes, next_message, deliveries, lease_token,
	lease_owner, lease_until, sticky_owner, sticky_until, not_before_at, fetch_at
	FROM perdure_instance WHERE key = ?`

// head answers the head of an instance, nil if there is none.
func (t *tx) head(key provider.UUID) (*head, error) {
	if h, ok := t.heads[key]; ok {
		return h, nil
	}
	h := &head{key: key}
	found, err := t.one(sqlHead, func(r *row) {
		h.id, h.kind, h.status, h.deleting = r.text(0), r.int(1), provider.Status(r.int(2)), r.bool(3)
		h.execution, h.version, h.length, h.bytes = r.int(4), r.uuid(5), r.int(6), r.int(7)
		h.blocked, h.retryAt, h.updatedAt, h.endedAt = r.bool(8), r.time(9), r.time(10), r.time(11)
		h.readyAt, h.inbox, h.inboxBytes, h.nextMessage = r.time(12), r.int(13), r.int(14), r.int(15)
		h.deliveries, h.leaseToken, h.leaseOwner, h.leaseUntil = r.int(16), r.uuid(17), r.text(18), r.int(19)
		h.stickyOwner, h.stickyUntil, h.notBefore, h.fetchAt = r.text(20), r.int(21), r.time(22), r.time(23)
	}, key)
	if err != nil {
		return nil, fmt.Errorf("perdure_instance %s: %w", key, err)
	}
	if !found {
		return nil, nil //nolint:nilnil // no instance is an answer
	}
	t.heads[key] = h
	return h, nil
}

const sqlKeyOfID = `SELECT key FROM perdure_instance WHERE id = ? AND current = 1`

// find answers the head of the instance that a request names, nil if there is none.
func (t *tx) find(id string, key provider.UUID) (*head, error) {
	if key.IsZero() {
		found, err := t.one(sqlKeyOfID, func(r *row) { key = r.uuid(0) }, id)
		if err != nil || !found {
			return nil, err
		}
	}
	return t.head(key)
}

// touch marks a head whose plain columns changed.
func (t *tx) touch(h *head) {
	t.changes++
	if !h.dirty {
		h.dirty = true
		t.dirty = append(t.dirty, h)
	}
}

// touchWide marks a head of which columns changed that indexes use, or what they depend on.
func (t *tx) touchWide(h *head) {
	h.wide = true
	t.touch(h)
}

// ready computes since when a fetch may take the instance; 0: it may not.
func (h *head) ready() provider.Time {
	if h.status != provider.StatusRunning || h.deleting || h.readyAt == 0 || h.leaseUntil != 0 ||
		h.blocked && h.retryAt == 0 {
		return 0
	}
	at := max(h.readyAt, h.notBefore)
	if h.blocked {
		at = max(at, h.retryAt)
	}
	return at
}

const (
	sqlHeadSmall = `UPDATE perdure_instance SET version = ?, history_length = ?, history_bytes = ?, updated_at = ?,
		ready_at = ?, inbox_messages = ?, inbox_bytes = ?, next_message = ?, deliveries = ?, sticky_owner = ?,
		sticky_until = ? WHERE key = ?`
	sqlHeadWide = `UPDATE perdure_instance SET version = ?, history_length = ?, history_bytes = ?, updated_at = ?,
		ready_at = ?, inbox_messages = ?, inbox_bytes = ?, next_message = ?, deliveries = ?, sticky_owner = ?,
		sticky_until = ?, kind = ?, status = ?, deleting = ?, execution = ?, blocked = ?, retry_at = ?, ended_at = ?,
		lease_token = ?, lease_owner = ?, lease_until = ?, not_before_at = ?, fetch_at = ? WHERE key = ?`
)

// flush writes the dirty heads.
func (t *tx) flush() error {
	for _, h := range t.dirty {
		if err := t.store(h); err != nil {
			return err
		}
	}
	t.dirty = t.dirty[:0]
	return nil
}

// store writes one head if it is dirty.
func (t *tx) store(h *head) error {
	if !h.dirty {
		return nil
	}
	h.dirty = false
	fetchAt := h.ready()
	wide := h.wide || fetchAt != h.fetchAt
	h.fetchAt, h.wide = fetchAt, false
	t.announce(h)
	if !wide {
		_, err := t.exec(sqlHeadSmall, h.version, h.length, h.bytes, h.updatedAt, h.readyAt, h.inbox, h.inboxBytes,
			h.nextMessage, h.deliveries, textOrNull(h.stickyOwner), h.stickyUntil, h.key)
		return err
	}
	_, err := t.exec(sqlHeadWide, h.version, h.length, h.bytes, h.updatedAt, h.readyAt, h.inbox, h.inboxBytes,
		h.nextMessage, h.deliveries, textOrNull(h.stickyOwner), h.stickyUntil, h.kind, h.status, h.deleting,
		h.execution, h.blocked, h.retryAt, h.endedAt, h.leaseToken, textOrNull(h.leaseOwner), h.leaseUntil,
		h.notBefore, timeOrNull(h.fetchAt), h.key)
	return err
}

// announce tells parked fetches of a head that they may take, now or later.
func (t *tx) announce(h *head) {
	switch {
	case h.fetchAt == 0:
	case h.fetchAt > t.now:
		t.wake(h.fetchAt)
	default:
		t.fx.readyKinds[h.kind] = struct{}{}
		if h.stickyUntil > t.elapsed {
			t.wakeElapsed(h.stickyUntil)
		}
	}
}

func textOrNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func timeOrNull(at provider.Time) any {
	if at == 0 {
		return nil
	}
	return int64(at)
}

// state tells whether execution of the instance still wants results.
func (t *tx) state(key provider.UUID, execution int64) (provider.ExecutionState, *head, error) {
	missing := provider.ExecutionState{Kind: provider.ExecutionMissing}
	h, err := t.head(key)
	if err != nil || h == nil || h.deleting || execution > h.execution {
		return missing, nil, err
	}
	if execution == h.execution {
		if h.status.Ended() {
			return provider.ExecutionState{Kind: provider.ExecutionTerminal, Status: h.status}, h, nil
		}
		return provider.ExecutionState{Kind: provider.ExecutionRunning}, h, nil
	}
	status, err := t.integer(sqlExecutionStatus, key, execution)
	if err != nil || status == 0 {
		return missing, h, err
	}
	return provider.ExecutionState{Kind: provider.ExecutionTerminal, Status: provider.Status(status)}, h, nil
}

const sqlExecutionStatus = `SELECT status FROM perdure_execution WHERE key = ? AND execution = ?`
