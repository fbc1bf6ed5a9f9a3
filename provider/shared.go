package provider

import "time"

// DeadLetterAction is what DeadLetters does.
type DeadLetterAction uint8

// The actions on dead letters.
const (
	DeadLettersList DeadLetterAction = iota
	DeadLettersRedrive
	DeadLettersDiscard
)

// DeadLettersRequest lists dead letters after Cursor, or acts on those that it names.
type DeadLettersRequest struct {
	Action DeadLetterAction
	IDs    []int64 // Redrive, Discard
	Key    UUID    // List: only those of this instance; zero: all
	Cursor int64   // List: IDs above it
	Max    int     // List: 1 to MaxPage; 0: MaxPage
}

// DeadLetter is a message or task that could not be delivered or processed.
type DeadLetter struct {
	ID         int64 // assigned by the storage: positive and never used again
	Task       bool  // else a message
	Key        UUID
	InstanceID string
	Execution  int64
	EventID    int64
	Kind       MessageKind // of a message
	Queue      string      // of a task, as is Name
	Name       string
	Reason     string
	Payload    []byte
	At         Time
}

// DeadLettersResult is the page or, for an action, the number of items that it changed.
type DeadLettersResult struct {
	Letters []DeadLetter
	Done    int64
}

// LeaseAction is what Lease does.
type LeaseAction uint8

// The actions on named leases.
const (
	LeaseAcquire LeaseAction = iota + 1 // also renews, when Token holds it
	LeaseRelease
)

// LeaseRequest acts on a named lease.
type LeaseRequest struct {
	Action   LeaseAction
	Name     string
	Owner    string
	Token    UUID
	Duration time.Duration
}

// LeaseResult has the current holder of the lease, "" for none.
type LeaseResult struct {
	Owner string
	Until Time
	Now   Time
}

// RecordAction is what Record does.
type RecordAction uint8

// The actions on records.
const (
	RecordGet RecordAction = iota + 1
	RecordPut
	RecordDelete
	RecordScan
)

// Record is a versioned value.
type Record struct {
	Key       string
	Value     []byte
	Version   int64 // from 1, raised by each Put
	UpdatedAt Time
}

// RecordRequest acts on records of a namespace.
type RecordRequest struct {
	Action    RecordAction
	Namespace string
	Key       string // Scan: keys above it
	Prefix    string // Scan
	Value     []byte // Put
	Expect    int64  // Put and Delete: the version that is stored, 0 for none
	Max       int    // Scan: 1 to MaxPage; 0: MaxPage
}

// RecordResult has the record that was read, written or deleted, or the scanned ones by key.
type RecordResult struct {
	Records []Record
	Now     Time
}
