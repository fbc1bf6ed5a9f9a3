package history

import (
	"crypto/sha256"
	"encoding/hex"
)

// UpdateReceived is a call of a handler of the code, from outside. Its outcome is an UpdateState.
type UpdateReceived struct {
	Name  string
	ID    string // of the update, chosen by its sender; an instance takes each one once
	Input []byte

	Header []byte // see EncodeHeader
}

// Kind implements Body.
func (*UpdateReceived) Kind() Kind { return KindUpdateReceived }

func (e *UpdateReceived) fields(c *codec) {
	c.text(2, &e.Name)
	c.text(3, &e.ID)
	c.payload(4, &e.Input)
	c.payload(headerField, &e.Header)
}

// UpdateAccepted says that the handler of an update begins, or waits for its turn.
type UpdateAccepted struct {
	Received int64 // event ID of UpdateReceived
}

// Kind implements Body.
func (*UpdateAccepted) Kind() Kind { return KindUpdateAccepted }

func (e *UpdateAccepted) fields(c *codec) { c.integer(2, &e.Received) }

// UpdateRejected is the verdict on an update that was received before its handler, and was not accepted.
type UpdateRejected struct {
	Received int64
	Outcome  int64 // one of UpdateRefused and the like
	Failure  *Failure
}

// Kind implements Body.
func (*UpdateRejected) Kind() Kind { return KindUpdateRejected }

func (e *UpdateRejected) fields(c *codec) {
	c.integer(2, &e.Received)
	c.integer(3, &e.Outcome)
	optional(c, 4, &e.Failure)
}

// UpdateCompleted is the end of an accepted update.
type UpdateCompleted struct {
	Received int64
	Outcome  int64 // one of UpdateDone and the like
	Output   []byte
	Failure  *Failure
}

// Kind implements Body.
func (*UpdateCompleted) Kind() Kind { return KindUpdateCompleted }

func (e *UpdateCompleted) fields(c *codec) {
	c.integer(2, &e.Received)
	c.integer(3, &e.Outcome)
	c.payload(4, &e.Output)
	optional(c, 5, &e.Failure)
}

// The outcomes of an update, and the stages before it has one. The numbers are stored.
const (
	UpdatePending    int64 = iota + 1 // received; its handler is not registered yet
	UpdateRunning                     // accepted
	UpdateDone                        // Output is what the handler returned
	UpdateFailed                      // the handler returned Failure
	UpdateRefused                     // the validator returned Failure, or the input could not be decoded
	UpdateUnknown                     // the code has no handler of the name; Names has those that it has
	UpdatePanicked                    // the validator or the handler panicked before anything of it was stored
	UpdateEnded                       // the instance ended before it took the update
	UpdateClosing                     // the main function had returned
	UpdateAbandoned                   // the instance ended before the handler
	UpdateGone                        // a repeat of an update whose outcome is not kept any more
	UpdateDiscarded                   // a reset has taken the outcome back
	UpdateNotCarried                  // UpdateDone, after the input of the next execution was made
)

// UpdateState is what an instance shows of an update: a key-value of the engine, which the client waits for.
type UpdateState struct {
	Outcome int64 // a stage or an outcome
	Name    string
	ID      string
	Input   []byte // nil if it is longer than MaxShownInput
	Sum     []byte // hash of an input that is longer
	At      int64  // when it was received, microseconds UTC
	Ended   int64  // when it got its outcome; 0: it has none
	Output  []byte
	Failure *Failure
	Names   [][]byte
}

func (s *UpdateState) fields(c *codec) {
	c.integer(1, &s.Outcome)
	c.text(2, &s.Name)
	c.text(3, &s.ID)
	c.payload(4, &s.Input)
	c.payload(5, &s.Sum)
	c.integer(6, &s.At)
	c.integer(7, &s.Ended)
	c.payload(8, &s.Output)
	optional(c, 9, &s.Failure)
	c.list(10, &s.Names)
}

// MaxShownInput is the longest input that an UpdateState keeps, in bytes.
const MaxShownInput = 4 << 10

// Show sets the input.
func (s *UpdateState) Show(input []byte) {
	if s.Input, s.Sum = input, nil; len(input) > MaxShownInput {
		sum := sha256.Sum256(input)
		s.Input, s.Sum = nil, sum[:]
	}
}

// Over reports whether the update has an outcome.
func (s *UpdateState) Over() bool { return s.Outcome > UpdateRunning }

// EncodeUpdateState encodes s with the format's version in front.
func EncodeUpdateState(s UpdateState) []byte { return appendRecord([]byte{formatVersion}, &s) }

// DecodeUpdateState reads what EncodeUpdateState wrote. Errors wrap ErrNewer or ErrCorrupt.
func DecodeUpdateState(data []byte) (UpdateState, error) {
	var s UpdateState
	return s, decodeVersioned(data, &s)
}

// UpdateKeys begins the keys of all UpdateStates. No code can set such a key.
const UpdateKeys = "perdure.update."

// UpdateHash is the hash of an update's ID that histories and keys have.
func UpdateHash(id string) (hash [16]byte) {
	sum := sha256.Sum256([]byte(id))
	copy(hash[:], sum[:])
	return hash
}

// UpdateKey returns the key of the UpdateState of an ID, which itself may be as long as a key.
func UpdateKey(id string) string {
	hash := UpdateHash(id)
	return UpdateKeys + hex.EncodeToString(hash[:])
}
