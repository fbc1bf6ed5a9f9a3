package postgres

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

// unit is one transaction in which a group of calls runs. It implements [relational.Rows]. Reads return what begin read
// and locked in one round trip. Writes are deferred to the next one. Each kind of rows is a part of its own.
type unit struct {
	txn
	kindRows
	instanceRows
	inboxRows
	historyRows
	taskRows
	sessionRows

	view    relational.Tx        // the view that calls have
	effects relational.Effects   // of the member that runs
	sent    []messageRow         // messages that the transaction has written already
	watched []*provider.Instance // instances that calls of this process wait for
}

var (
	_ relational.Rows          = (*unit)(nil)
	_ relational.FirstTurnRows = (*unit)(nil)
)

// unitOf returns the unit below a transaction of this store.
func unitOf(t *relational.Tx) *unit { return t.Rows.(*unit) } //nolint:forcetypeassert // all are made by unit.tx

// units makes the transactions of a store.
type units struct {
	db    *database
	kinds *kinds
	clock *clock
}

func newUnits(db *database, kinds *kinds, clock *clock) *units {
	return &units{db: db, kinds: kinds, clock: clock}
}

// on returns a unit for a transaction on a connection.
func (us *units) on(ctx context.Context, conn *pgx.Conn) *unit {
	u := &unit{
		txn: txn{db: us.db, kinds: us.kinds, clock: us.clock, ctx: ctx, conn: conn},
		instanceRows: instanceRows{
			rows: make(map[provider.UUID]*stored), own: make(map[provider.UUID]*ownRow), ids: make(map[string]provider.UUID),
			held: make(map[provider.UUID]struct{}), heldID: make(map[string]struct{}), cached: make(map[provider.UUID]*cachedRow),
			wrote: make(map[provider.UUID]struct{}), described: make(map[provider.UUID]bool),
		},
		inboxRows: inboxRows{inbox: make(map[provider.UUID]*inbox)},
		taskRows: taskRows{
			tasks: make(map[provider.TaskRef]*relational.Task), heldTasks: make(map[provider.TaskRef]struct{}),
			turns: make(map[relational.Lane]relational.LaneRanks),
		},
		effects: relational.NewEffects(),
	}
	t := &u.txn
	u.kindRows.t, u.instanceRows.t, u.inboxRows.t, u.historyRows.t, u.taskRows.t, u.sessionRows.t = t, t, t, t, t, t
	u.view = relational.Tx{Rows: u, Heads: make(map[provider.UUID]*relational.Head), Effects: relational.NewEffects()}
	return u
}

// begin opens the transaction, unless it is the caller's, and locks and reads what the calls need, in one round trip.
func (u *unit) begin(needs relational.Needs) error {
	slices.SortFunc(needs.Keys, func(a, b provider.UUID) int { return slices.Compare(a[:], b[:]) })
	needs.Keys = slices.Compact(needs.Keys)
	b := &pgx.Batch{}
	if u.joined {
		u.queueJoin(b)
	} else {
		u.queueBegin(b)
	}
	u.queueLocks(b, &needs)
	if len(needs.Tasks) > 0 {
		u.queueTasks(b, needs.Tasks)
	}
	if len(needs.Peek) > 0 { // after the tasks: while one of them is locked its execution cannot end
		u.queuePeek(b, needs.Peek)
	}
	if len(needs.Lanes) > 0 {
		u.queueTurns(b, needs.Lanes)
	}
	if len(needs.Inbox) > 0 {
		u.queueInbox(b, &needs)
	}
	if err := u.exchange(b); err != nil {
		return err
	}
	u.clock.observe(u.now)
	return nil
}

// tx returns the view that calls have of the unit.
func (u *unit) tx() *relational.Tx {
	u.view.Now, u.view.Elapsed = u.now, int64(u.now)
	return &u.view
}

// InsertInstance implements [relational.Rows].
func (u *unit) InsertInstance(h *relational.Head, req *provider.CreateRequest) error {
	u.insert(h, req, false)
	return nil
}

// InsertBegun implements [relational.FirstTurnRows].
func (u *unit) InsertBegun(h *relational.Head, req *provider.CreateRequest) error {
	u.insert(h, req, true)
	for i := range u.ops.messages { // the timers of the turn
		if m := &u.ops.messages[i]; m.key == h.Key {
			u.inbox[h.Key].put(&m.Message)
		}
	}
	return nil
}

func (u *unit) insert(h *relational.Head, req *provider.CreateRequest, begun bool) {
	u.ops.instances = append(u.ops.instances, newInstance{*h, req, h.UpdatedAt, begun})
	before, known := u.rows[h.Key]
	old, hadID := u.ids[h.ID]
	u.rows[h.Key] = &stored{Head: *h, request: req.RequestID, current: true}
	u.own[h.Key] = &ownRow{created: h.UpdatedAt}
	u.ids[h.ID] = h.Key
	u.inbox[h.Key] = &inbox{complete: true}
	_, wrote := u.wrote[h.Key]
	u.wrote[h.Key] = struct{}{}
	u.ops.later(func() {
		if !wrote {
			delete(u.wrote, h.Key)
		}
		delete(u.inbox, h.Key)
		delete(u.own, h.Key)
		delete(u.rows, h.Key)
		if known {
			u.rows[h.Key] = before
		}
		delete(u.ids, h.ID)
		if hadID {
			u.ids[h.ID] = old
		}
	})
}

// StoreHead implements [relational.Rows].
func (u *unit) StoreHead(h *relational.Head) error {
	if h.FetchAt = h.Ready(); h.FetchAt != 0 && h.LeaseUntil != 0 {
		h.FetchAt = max(h.FetchAt, provider.Time(h.LeaseUntil))
	}
	if u.ops.heads == nil {
		u.ops.heads = make([]relational.Head, 0, len(u.view.Heads))
	}
	u.ops.heads = append(u.ops.heads, *h)
	u.wrote[h.Key] = struct{}{}
	return nil
}

// fenced reports whether everything that was read is written, too, so that the storage detects changes.
func (u *unit) fenced() bool {
	for key := range u.rows {
		if _, ok := u.wrote[key]; !ok {
			return false
		}
	}
	for _, key := range u.ids {
		if key.IsZero() {
			return false
		}
	}
	return len(u.ops.retired)+len(u.ops.used)+len(u.ops.leasedIn) == 0
}

// owns reports whether ownInstance works. Only the end of an instance is published with its row.
func (u *unit) owns(key provider.UUID) bool {
	h := u.view.Heads[key]
	if h == nil {
		return false
	}
	_, known := u.kinds.get().ByTurn[h.Kind]
	return known && u.own[key] != nil && h.Status.Ended() && !h.Deleting && !h.Blocked
}

// ownInstance returns the row of an instance as the unit leaves it.
func (u *unit) ownInstance(key provider.UUID) *provider.Instance {
	row, own, h := u.rows[key], u.own[key], u.view.Heads[key]
	in := &provider.Instance{Parent: h.Parent, RequestID: row.request, CreatedAt: own.created, Result: slices.Clone(own.result)}
	h.Describe(in, u.kinds.get().ByTurn[h.Kind])
	own.failure.Describe(in)
	return in
}

// waiting returns the known messages of an inbox: what this process caches, and what came with the group.
func (u *unit) waiting(h *relational.Head, sent []messageRow) (list []provider.Message) {
	removed := map[int64]struct{}{}
	if box := u.inbox[h.Key]; box != nil {
		removed = box.removed
	}
	if was := u.cached[h.Key]; was != nil {
		for _, m := range was.waiting {
			if _, gone := removed[m.ID]; !gone {
				list = append(list, m)
			}
		}
	}
	for i := range sent {
		m := &sent[i]
		if _, gone := removed[m.ID]; !gone && m.key == h.Key {
			list = append(list, provider.Message{
				ID: m.ID, Kind: m.Kind, Execution: m.Execution, EventID: m.EventID, Timer: m.Timer, VisibleAt: m.VisibleAt, Payload: m.Payload,
			})
		}
	}
	slices.SortFunc(list, func(a, b provider.Message) int {
		return cmp.Or(cmp.Compare(a.VisibleAt, b.VisibleAt), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// cacheableMessages returns what is kept of them for the next claim, after the current turn.
func (u *unit) cacheableMessages(h *relational.Head) []provider.Message {
	if h.LeaseUntil == 0 || h.Inbox == 0 || h.Inbox > maxCachedMessages || h.InboxBytes > maxCachedBytes {
		return nil
	}
	list := u.waiting(h, u.sent)
	for i := range list {
		list[i].Payload = slices.Clone(list[i].Payload)
	}
	return list
}
