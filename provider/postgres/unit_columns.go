package postgres

import (
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/perdure/perdure/provider"
	"github.com/perdure/perdure/provider/internal/relational"
)

func fillBegun(c *columns, rows []newInstance) {
	column(c, rows, func(r *newInstance) pgtype.UUID { return uuid(r.head.Key) })
	column(c, rows, func(r *newInstance) string { return r.head.ID })
	column(c, rows, func(r *newInstance) int64 { return r.head.Kind })
	column(c, rows, func(r *newInstance) pgtype.UUID { return uuid(r.head.Version) })
	column(c, rows, func(r *newInstance) int64 { return r.head.Length })
	column(c, rows, func(r *newInstance) int64 { return r.head.Bytes })
	column(c, rows, func(r *newInstance) string { return r.req.RequestID })
	column(c, rows, func(r *newInstance) int64 { return int64(r.created) })
	column(c, rows, func(r *newInstance) int64 { return int64(r.head.ReadyAt) })
	column(c, rows, func(r *newInstance) int64 { return r.head.Inbox })
	column(c, rows, func(r *newInstance) int64 { return r.head.InboxBytes })
	column(c, rows, func(r *newInstance) int64 { return r.head.NextMessage })
	column(c, rows, func(r *newInstance) string { return r.head.StickyOwner })
	column(c, rows, func(r *newInstance) int64 { return r.head.StickyUntil })
	column(c, rows, func(r *newInstance) int64 { return int64(r.head.FetchAt) })
}

// split separates rows by a condition, without a copy if all are alike.
func split[Row any](rows []Row, first func(*Row) bool) (yes, no []Row) {
	n := 0
	for i := range rows {
		if first(&rows[i]) {
			n++
		}
	}
	switch n {
	case 0:
		return nil, rows
	case len(rows):
		return rows, nil
	}
	yes, no = make([]Row, 0, n), make([]Row, 0, len(rows)-n)
	for i := range rows {
		if first(&rows[i]) {
			yes = append(yes, rows[i])
		} else {
			no = append(no, rows[i])
		}
	}
	return yes, no
}

func fillConsumed(c *columns, rows []messageRef) {
	column(c, rows, func(r *messageRef) pgtype.UUID { return uuid(r.key) })
	column(c, rows, func(r *messageRef) int64 { return r.id })
}

func fillEnded(c *columns, rows []endedTask) {
	column(c, rows, func(r *endedTask) pgtype.UUID { return uuid(r.Key) })
	column(c, rows, func(r *endedTask) int64 { return r.Execution })
	column(c, rows, func(r *endedTask) int64 { return r.EventID })
}

// fillHeld fills in the tasks that must be held as this process has them cached.
func fillHeld(c *columns, rows []endedTask) {
	fillEnded(c, rows)
	column(c, rows, func(r *endedTask) pgtype.UUID { return uuid(r.token) })
}

// lastOf keeps the last row of each name.
func lastOf[Row any, Name comparable](rows []Row, name func(*Row) Name) []Row {
	if len(rows) < 2 {
		return rows
	}
	last := make(map[Name]int, len(rows))
	for i := range rows {
		last[name(&rows[i])] = i
	}
	if len(last) == len(rows) {
		return rows
	}
	kept := make([]Row, 0, len(last))
	for i := range rows {
		n := name(&rows[i])
		if j, ok := last[n]; ok {
			kept = append(kept, rows[j])
			delete(last, n)
		}
	}
	return kept
}

func fillHistory(c *columns, rows []historyRow) {
	column(c, rows, func(r *historyRow) pgtype.UUID { return uuid(r.key) })
	column(c, rows, func(r *historyRow) int64 { return r.execution })
	column(c, rows, func(r *historyRow) int64 { return r.first })
	column(c, rows, func(r *historyRow) int64 { return r.events })
	column(c, rows, func(r *historyRow) []byte { return r.data })
}

func fillHandOffs(c *columns, rows []newTask) {
	column(c, rows, func(r *newTask) pgtype.UUID { return uuid(r.Key) })
	column(c, rows, func(r *newTask) int64 { return r.Execution })
	column(c, rows, func(r *newTask) int64 { return r.EventID })
	column(c, rows, func(r *newTask) int64 { return r.Kind })
	column(c, rows, func(r *newTask) pgtype.UUID { return uuid(r.Token) })
	column(c, rows, func(r *newTask) string { return r.Owner })
	column(c, rows, func(r *newTask) int64 { return r.LeaseUntil })
	column(c, rows, func(r *newTask) int64 { return int64(r.scheduledAt) })
	column(c, rows, func(r *newTask) []byte { return r.stored.Payload })
}

func fillMessages(c *columns, rows []messageRow) {
	column(c, rows, func(r *messageRow) pgtype.UUID { return uuid(r.key) })
	column(c, rows, func(r *messageRow) int64 { return r.ID })
	column(c, rows, func(r *messageRow) int64 { return int64(r.VisibleAt) })
	column(c, rows, func(r *messageRow) int16 { return int16(r.Kind) })
	column(c, rows, func(r *messageRow) bool { return r.Timer })
	column(c, rows, func(r *messageRow) int64 { return r.Execution })
	column(c, rows, func(r *messageRow) int64 { return r.EventID })
	column(c, rows, func(r *messageRow) []byte { return r.Payload })
}

func fillExecutions(c *columns, rows []executionRef) {
	column(c, rows, func(r *executionRef) pgtype.UUID { return uuid(r.key) })
	column(c, rows, func(r *executionRef) int64 { return r.execution })
}

func fillBytes(c *columns, rows []keyBytes) {
	column(c, rows, func(r *keyBytes) pgtype.UUID { return uuid(r.key) })
	column(c, rows, func(r *keyBytes) []byte { return r.data })
}

func fillResults(c *columns, rows []resultRow) {
	column(c, rows, func(r *resultRow) pgtype.UUID { return uuid(r.key) })
	column(c, rows, func(r *resultRow) []byte { return r.data })
}

func fillFailedResults(c *columns, rows []resultRow) {
	fillResults(c, rows)
	column(c, rows, func(r *resultRow) (group pgtype.Text) {
		if r.failure != nil && r.failure.Group != "" {
			group = pgtype.Text{String: r.failure.Group, Valid: true}
		}
		return group
	})
	column(c, rows, func(r *resultRow) []byte {
		if r.failure == nil || len(r.failure.Excerpt) == 0 {
			return nil
		}
		return r.failure.Excerpt
	})
	column(c, rows, func(r *resultRow) (at pgtype.Int8) {
		if r.failure != nil {
			at = pgtype.Int8{Int64: int64(r.failure.At), Valid: true}
		}
		return at
	})
}

// ofFailures reports whether a row needs the columns of failures: to set them, or to clear them.
func (r resultRow) ofFailures() bool { return r.failure != nil || r.data == nil }

func fillAsTheyWere(c *columns, rows []relational.Head, known map[provider.UUID]*cachedRow) {
	column(c, rows, func(h *relational.Head) pgtype.Uint32 { return pgtype.Uint32{Uint32: known[h.Key].xid, Valid: true} })
	// A server that lost transactions, such as a copy that replaced it, gives their IDs again.
	column(c, rows, func(h *relational.Head) pgtype.UUID { return uuid(known[h.Key].Version) })
}

// handedOff reports whether sqlHandOffs writes the whole task.
func (t *newTask) handedOff() bool {
	return t.State == provider.TaskLeased && t.Deliveries == 1 && t.NotBefore == t.scheduledAt && t.FetchAt == provider.Time(t.LeaseUntil) &&
		t.StartBy == 0 && t.Deadline == 0 && t.ExpireAt == 0 && t.Rank == 0 && t.stored.FairnessKey+t.stored.Session+t.stored.LimitKey == ""
}
