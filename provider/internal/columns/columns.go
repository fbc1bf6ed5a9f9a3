// Package columns has the lists of the columns of an instance and of a task. What both SQL stores read and write of them is generated from
// these lists:
//
//	go generate ./provider/internal/columns
//
// A new column gets a line in [Instance] or [Task], a migration in each store, and a field of relational.Head, provider.Instance or
// relational.Task.
package columns

//go:generate go run ./generate

// Type is how a column is stored.
type Type int

// The types of columns.
const (
	UUID     Type = iota
	Text          // "" is stored as such
	NullText      // SQLite stores "" as NULL
	Int
	Small // a small number with a Go type of its own
	Bool
	Time     // microseconds UTC
	NullTime // SQLite stores 0 as NULL
	NullBool // SQLite stores true only if it means something: see begunOrNull
	Bytes
)

// Use says which statements a column is part of.
type Use int

// The statements of an instance.
const (
	Loaded  Use = 1 << iota // with a head
	Turned                  // written by each turn
	Held                    // written when a turn, a fetch or an order changes more than most turns do
	Stepped                 // written by a step: a turn that consumes no message
)

// Column is a column of a table.
type Column struct {
	Name  string
	Type  Type
	Use   Use
	Field string // of relational.Head or relational.Task; "": none
	Shown string // the field of provider.Instance; "": none
	Named string // the Go type of the field, if it has one of its own
	Given string // the value, if it comes from the request and not from a field
	Kept  bool   // NULL keeps what is stored
	Fixed bool   // a task of a suspended instance keeps 0 while it is leased
}

// Instance returns the columns of an instance, in the order in which statements name them.
func Instance() []Column {
	return []Column{
		{Name: "key", Type: UUID, Field: "Key", Shown: "Key"},
		{Name: "id", Type: Text, Use: Loaded, Field: "ID", Shown: "ID"},
		{Name: "kind", Type: Int, Use: Loaded | Held, Field: "Kind"},
		{Name: "status", Type: Small, Use: Loaded | Held | Stepped, Field: "Status", Shown: "Status", Named: "provider.Status"},
		{Name: "deleting", Type: Bool, Use: Loaded | Held, Field: "Deleting", Shown: "Deleting"},
		{Name: "execution", Type: Int, Use: Loaded | Held, Field: "Execution", Shown: "Execution"},
		{Name: "version", Type: UUID, Use: Loaded | Turned | Stepped, Field: "Version", Shown: "Version"},
		{Name: "history_length", Type: Int, Use: Loaded | Turned | Stepped, Field: "Length", Shown: "HistoryLength"},
		{Name: "history_bytes", Type: Int, Use: Loaded | Turned | Stepped, Field: "Bytes", Shown: "HistoryBytes"},
		{Name: "parent_key", Type: UUID, Use: Loaded, Field: "Parent.Key", Shown: "Parent.Key"},
		{Name: "parent_id", Type: Text, Shown: "Parent.ID"},
		{Name: "parent_execution", Type: Int, Use: Loaded, Field: "Parent.Execution", Shown: "Parent.Execution"},
		{Name: "parent_event", Type: Int, Use: Loaded, Field: "Parent.EventID", Shown: "Parent.EventID"},
		{Name: "parent_close", Type: Small, Shown: "Parent.Close", Named: "provider.ClosePolicy"},
		{Name: "blocked", Type: Bool, Use: Loaded | Held, Field: "Blocked", Shown: "Blocked"},
		{Name: "blocked_reason", Type: Text, Shown: "Blocked.Reason"},
		{Name: "blocked_message", Type: Text, Shown: "Blocked.Message"},
		{Name: "blocked_count", Type: Int, Shown: "Blocked.Count"},
		{Name: "blocked_since", Type: Time, Shown: "Blocked.Since"},
		{Name: "retry_at", Type: Time, Use: Loaded | Held, Field: "RetryAt", Shown: "Blocked.RetryAt"},
		{Name: "request_id", Type: Text, Shown: "RequestID"},
		{Name: "attributes", Type: Bool, Shown: "Attributes"},
		{Name: "created_at", Type: Time, Shown: "CreatedAt"},
		{Name: "updated_at", Type: Time, Use: Loaded | Turned | Stepped, Field: "UpdatedAt", Shown: "UpdatedAt"},
		{Name: "ended_at", Type: Time, Use: Loaded | Held | Stepped, Field: "EndedAt", Shown: "EndedAt"},
		{Name: "ready_at", Type: Time, Use: Loaded | Turned, Field: "ReadyAt", Shown: "ReadyAt"},
		{Name: "inbox_messages", Type: Int, Use: Loaded | Turned, Field: "Inbox", Shown: "InboxMessages"},
		{Name: "inbox_bytes", Type: Int, Use: Loaded | Turned, Field: "InboxBytes"},
		{Name: "next_message", Type: Int, Use: Loaded | Turned, Field: "NextMessage"},
		{Name: "deliveries", Type: Int, Use: Loaded | Turned, Field: "Deliveries", Shown: "Deliveries"},
		{Name: "lease_token", Type: UUID, Use: Loaded | Held, Field: "LeaseToken"},
		{Name: "lease_owner", Type: NullText, Use: Loaded | Held, Field: "LeaseOwner"},
		{Name: "lease_until", Type: Int, Use: Loaded | Held, Field: "LeaseUntil"},
		{Name: "sticky_owner", Type: NullText, Use: Loaded | Turned | Stepped, Field: "StickyOwner"},
		{Name: "sticky_until", Type: Int, Use: Loaded | Turned | Stepped, Field: "StickyUntil"},
		{Name: "not_before_at", Type: Time, Use: Loaded | Held, Field: "NotBefore"},
		{Name: "fetch_at", Type: NullTime, Use: Loaded | Held, Field: "FetchAt"},
		{Name: "listened", Type: Bool, Use: Loaded, Field: "Listened"},
	}
}
