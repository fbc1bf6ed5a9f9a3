package provider

import "context"

// Mover is implemented by providers whose instances can move to another store, of this kind or another.
//
// An instance moves in steps: Seal holds it and then closes it, Export reads it a page at a time, Import stores it at the
// target, and Seal frees it there.
type Mover interface {
	// Seal brings an instance from one seal to the next one, or back. A repeat succeeds and changes nothing.
	//
	//   - A running or Suspended instance that is held is Suspended and gets a new Version. Its turn lease and its stickiness end. Its
	//     leased tasks are queued as if the leases had expired, but their tokens hold them no longer. Parked tasks keep their
	//     tokens. It still accepts messages, reports of parked tasks and SteerTask. Every Steer and Reset of it, and a Delete
	//     without Force, returns [ErrMoved].
	//   - A held instance that is closed counts as one that is being deleted, except that Get, List and ReadHistory still return it.
	//     Send, Steer, Reset, ReportTasks, SteerTask, and Delete without Force return [ErrMoved]. Its end is told to nobody. An
	//     instance that is no longer Suspended is not closed: the call returns [ErrConflict].
	//   - A closed instance that is held again accepts messages again. If it had ended before its move, it is free.
	//   - A held instance that is freed gets back the status that it had, and a new Version. It continues at once.
	//
	// Only neighbours follow each other: none, held, closed. Another step returns [ErrMoved] for a sealed instance and [ErrConflict]
	// for a free one, and so does a Transfer other than that of the seal. An instance that was sealed here goes back only with Back.
	// With Again, SealHeld gives an instance that was sealed here the new Transfer and keeps its seal. An instance that has ended
	// is not sealed: the call returns [ErrEnded].
	Seal(ctx context.Context, req SealRequest) (SealResult, error)

	// Export returns a page of an instance: everything that is stored under its key, except leases, sessions,
	// stickiness and questions. It returns [ErrConflict] unless the instance is closed under Transfer, or has ended and is free.
	//
	// The first page has the Head. A page ends once its payloads reach MaxBytes. Export changes nothing.
	Export(ctx context.Context, req ExportRequest) (ExportResult, error)

	// Import stores a page of an instance under its key, in one transaction. The first page makes the instance, which is then
	// arriving and counts as closed. The last page closes it. Freed, it is the instance that was exported: it has the same
	// events, messages, times, tokens and request IDs, in the same order. Dead letters get new IDs.
	//
	// A first page begins anew while the instance is arriving. A page that was stored before changes nothing. A page that
	// does not follow the one before returns [ErrConflict]. Once all pages are stored, every page of that Transfer changes nothing and
	// returns Done, even after the instance was freed.
	//
	// A key or ID in use is refused with an [*ExistsError]. With Replace, an instance that was sealed here and is closed is
	// replaced. If At is later than the storage's time, the call returns [ErrClockBehind].
	Import(ctx context.Context, req ImportRequest) (ImportResult, error)

	// Seals returns the seals of instances that are not free, in order of their keys, a page at a time.
	Seals(ctx context.Context, req SealsRequest) (SealsResult, error)
}

// SealState says how far an instance is on its way to or from another store.
type SealState uint8

// The seals.
const (
	SealNone     SealState = iota // it is free
	SealHeld                      // it is Suspended and accepts messages
	SealClosed                    // it counts as being deleted
	SealArriving                  // it counts as being deleted, and Import has not stored all of it
)

// String returns "none", "held", "closed" or "arriving".
func (s SealState) String() string {
	switch s {
	case SealHeld:
		return "held"
	case SealClosed:
		return "closed"
	case SealArriving:
		return "arriving"
	default:
		return "none"
	}
}

// SealRequest names an instance by its key.
type SealRequest struct {
	Key      UUID
	Transfer UUID      // names the move; all instances that move together have the same
	To       SealState // SealNone, SealHeld or SealClosed
	Commit   UUID      // the new Version
	Again    bool      // SealHeld: take over the seal of another transfer
	Back     bool      // open or free an instance that was sealed here
}

// SealResult has the instance after the change.
type SealResult struct {
	Instance Instance
	Seal     Seal
	Now      Time
}

// Seal is the seal of an instance.
type Seal struct {
	Key      UUID
	ID       string
	Transfer UUID
	State    SealState
	Arrived  bool   // it came by Import; false: it was sealed here
	Status   Status // that it gets back
}

// SealsRequest asks for a page of seals.
type SealsRequest struct {
	Key    UUID   // not zero: only this one
	Cursor string // "" for the first page, else SealsResult.Cursor
	Max    int    // 1 to MaxPage; 0: MaxPage
}

// SealsResult is a page. Cursor is "" after the last one.
type SealsResult struct {
	Seals  []Seal
	Cursor string
	Now    Time
}

// ExportRequest asks for a page of an instance.
type ExportRequest struct {
	Key      UUID
	Transfer UUID   // of its seal; zero: it has ended and is not sealed
	Cursor   string // "" for the first page, else ExportResult.Cursor
	MaxBytes int    // 0: MaxFetchBytes
}

// ExportResult is a page. Cursor is "" after the last one.
type ExportResult struct {
	Parcel  Parcel
	Version UUID
	Cursor  string
	Now     Time
}

// ImportRequest stores a page of an instance.
type ImportRequest struct {
	Key      UUID
	Transfer UUID
	Number   int  // of the page, from 0
	Last     bool // no page follows
	Replace  bool // on the first page; see Mover.Import
	At       Time // ExportResult.Now of the page
	Parcel   Parcel
}

// ImportResult says how far the instance is.
type ImportResult struct {
	Seal Seal
	Done bool // all pages are stored, and the caller can skip the rest
	Now  Time
}

// Parcel is a part of an instance on its way.
type Parcel struct {
	Head     *MovedHead // first page only
	History  []MovedEvents
	Messages []Message
	Tasks    []MovedTask
	Values   []KeyValue
	Letters  []MovedLetter
}

// MovedHead is an instance on its way, without what Parcel has in lists.
type MovedHead struct {
	Instance    Instance // Status is the one that it gets back; Version, times and counts are as stored
	Replaced    bool     // another instance has its ID
	NotBefore   Time     // end of the delay of a release
	NextMessage int64    // above all message IDs of the instance
	ReadyAt     Time     // as stored, if a reset made it ready without a message
	Executions  []MovedExecution
	Listener    *Listener
	Acts        [][]byte // of each request ID of Steer that it remembers the first 16 bytes of the SHA-256, the newest last
	Requests    []string // that delivered messages to it, the newest last
}

// MovedExecution is an execution that is over.
type MovedExecution struct {
	Execution int64
	Status    Status
	Length    int64
	EndedAt   Time // 0: unknown
}

// MovedEvents are events of one execution in a row.
type MovedEvents struct {
	Execution int64
	First     int64
	Events    [][]byte
}

// MovedTask is a pending task on its way. It is queued or parked.
type MovedTask struct {
	TaskRef
	Queue           string
	Name            string
	Payload         []byte
	Priority        int
	FairnessKey     string
	Session         string
	LimitKey        string
	State           TaskState
	Token           UUID // of a parked task
	Attempt         int64
	Deliveries      int64
	Begun           bool
	CancelRequested bool
	ScheduledAt     Time
	NotBefore       Time
	StartBy         Time
	Deadline        Time
	Rank            Time // by its fairness key, until its first lease; else 0
	Details         []byte
	Failure         []byte
}

// MovedLetter is a dead letter on its way.
type MovedLetter struct {
	DeadLetter
	Timer       bool // of a message
	Priority    int  // of a task, as are the next three
	FairnessKey string
	Session     string
	LimitKey    string
}

// Bytes returns how many bytes of payloads the parcel has.
func (p *Parcel) Bytes() int {
	n := 0
	if h := p.Head; h != nil {
		n += len(h.Instance.Result) + len(h.Instance.CustomStatus) + len(h.Instance.Excerpt)
	}
	for i := range p.History {
		for _, e := range p.History[i].Events {
			n += len(e)
		}
	}
	for i := range p.Messages {
		n += len(p.Messages[i].Payload)
	}
	for i := range p.Tasks {
		n += len(p.Tasks[i].Payload) + len(p.Tasks[i].Details) + len(p.Tasks[i].Failure)
	}
	for i := range p.Values {
		n += len(p.Values[i].Value)
	}
	for i := range p.Letters {
		n += len(p.Letters[i].Payload)
	}
	return n
}
