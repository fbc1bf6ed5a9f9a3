package columns

// The statements of a task.
const (
	Read    Use = 1 << iota // by the rules
	Added                   // with every new task
	Ranked                  // with a new task that has a time to start by or a rank
	Changed                 // by the rules
)

// Task returns the columns of an activity's task, in the order in which statements name them. Details are those of its heartbeat.
func Task() []Column {
	return []Column{
		{Name: "key", Type: UUID, Use: Added, Field: "Key"},
		{Name: "execution", Type: Int, Use: Added, Field: "Execution"},
		{Name: "event_id", Type: Int, Use: Added, Field: "EventID"},
		{Name: "kind", Type: Int, Use: Read | Added, Field: "Kind"},
		{Name: "state", Type: Small, Use: Read | Added | Changed, Field: "State", Named: "provider.TaskState"},
		{Name: "attempt", Type: Int, Use: Read | Changed, Field: "Attempt"},
		{Name: "deliveries", Type: Int, Use: Read | Added | Changed, Field: "Deliveries"},
		{Name: "token", Type: UUID, Use: Read | Added | Changed, Field: "Token"},
		{Name: "owner", Type: NullText, Use: Read | Added | Changed, Field: "Owner"},
		{Name: "lease_until", Type: Int, Use: Read | Added | Changed, Field: "LeaseUntil"},
		{Name: "cancel", Type: Bool, Use: Read | Changed, Field: "Cancel"},
		{Name: "scheduled_at", Type: Time, Use: Added, Given: "scheduledAt"},
		{Name: "not_before_at", Type: Time, Use: Read | Added | Changed, Field: "NotBefore"},
		{Name: "deadline_at", Type: Time, Use: Read | Added, Field: "Deadline"},
		{Name: "fetch_at", Type: NullTime, Use: Read | Added | Changed, Field: "FetchAt", Fixed: true},
		{Name: "expire_at", Type: NullTime, Use: Read | Added | Changed, Field: "ExpireAt", Fixed: true},
		{Name: "fairness_key", Type: NullText, Use: Added, Given: "stored.FairnessKey"},
		{Name: "session", Type: NullText, Use: Read, Field: "Session"},
		{Name: "session", Type: NullText, Use: Added, Given: "stored.Session"},
		{Name: "limit_key", Type: NullText, Use: Added, Given: "stored.LimitKey"},
		{Name: "payload", Type: Bytes, Use: Added, Given: "stored.Payload"},
		{Name: "start_by_at", Type: NullTime, Use: Read | Ranked | Changed, Field: "StartBy"},
		{Name: "begun", Type: NullBool, Use: Read | Ranked | Changed, Field: "Begun"},
		{Name: "rank_at", Type: NullTime, Use: Read | Ranked, Field: "Rank"},
		{Name: "details", Type: Bytes, Use: Changed, Given: "details", Kept: true},
		{Name: "failure", Type: Bytes, Use: Changed, Field: "Failure", Kept: true},
	}
}
