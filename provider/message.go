package provider

import "time"

// MessageKind is a small number that the engine gives a message. Providers store and
// return it and never act on it.
type MessageKind uint8

// Message is a message in an inbox.
type Message struct {
	ID        int64 // assigned by the storage: positive, unique in the inbox, rising per sender, never used again for the instance
	Kind      MessageKind
	Execution int64 // the execution of the receiver that it concerns; 0: whichever is current
	EventID   int64 // the event of that execution that it answers; 0: none
	Timer     bool  // a timer of that execution, keyed by EventID
	VisibleAt Time
	Payload   []byte
}

// NewMessage is a message to be stored. Storing it raises the engine level of its instance to that of the message, in
// the same transaction. So nodes that cannot read the message leave the instance to others at once.
type NewMessage struct {
	Kind        MessageKind
	Execution   int64
	EventID     int64
	Delay       time.Duration // until it is visible
	Payload     []byte
	EngineLevel int64 // the lowest level that can read it; 0: each can
}

// SendRequest names the receiver by Key, or by ID when Key is zero.
type SendRequest struct {
	ID      string
	Key     UUID
	Message NewMessage
}

// SendResult says where the message went.
type SendResult struct {
	Key       UUID
	MessageID int64
	Now       Time
}

// AskRequest asks an instance a question outside its inbox. It names the instance by Key, or by ID
// when Key is zero.
type AskRequest struct {
	ID      string
	Key     UUID
	AskID   UUID // from NewKeyIn, in the slot of the instance
	Payload []byte
	Wait    time.Duration // must be positive
	As      Capability    // in place of the instance's own; zero: that
}

// AskResult is the answer.
type AskResult struct {
	Payload []byte
	Now     Time
}

// FetchAsksRequest asks for open questions.
type FetchAsksRequest struct {
	Capabilities []Capability
	EngineLevel  int64
	Max          int
	Lease        time.Duration
	Wait         time.Duration
	Owner        string // as in FetchTurnsRequest; "": every question may be taken at once
}

// OpenAsk is a question taken by FetchAsks.
type OpenAsk struct {
	AskID    UUID
	Instance Instance
	Payload  []byte
}

// FetchAsksResult has the questions taken.
type FetchAsksResult struct {
	Asks []OpenAsk
	Now  Time
}

// AnswerRequest answers the question AskID.
type AnswerRequest struct {
	AskID   UUID
	Payload []byte
}
