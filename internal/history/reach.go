package history

import "encoding/json"

// DetachedStarted starts an instance that is no child.
type DetachedStarted struct {
	Name        string
	CodeVersion string
	ID          string
	Key         [16]byte
	Explicit    bool // the code chose the ID
	Input       []byte
	RequestID   string // that the code chose; "": one is made of the key
	EndEvent    string // the event with which this instance is told of the end; "": it is not

	// Releases before level 12 write none of these.
	Attributes []Attribute  // with which it begins
	Events     []FirstEvent // that come to it with its start
}

// FirstEvent is an event that comes with a start.
type FirstEvent struct {
	Name    string
	Payload []byte
}

func (e *FirstEvent) fields(c *codec) {
	c.text(1, &e.Name)
	c.payload(2, &e.Payload)
}

func firstEventsSize(list []FirstEvent) (size int64) {
	for i := range list {
		size += frame + int64(len(list[i].Name)+len(list[i].Payload))
	}
	return size
}

// Kind implements Body.
func (*DetachedStarted) Kind() Kind { return KindDetachedStarted }

func (e *DetachedStarted) fields(c *codec) {
	c.text(2, &e.Name)
	c.text(3, &e.CodeVersion)
	c.text(4, &e.ID)
	c.uuid(5, &e.Key)
	c.boolean(6, &e.Explicit)
	c.payload(7, &e.Input)
	c.text(8, &e.RequestID)
	c.text(9, &e.EndEvent)
	records(c, 10, &e.Attributes)
	records(c, 11, &e.Events)
}

// EventSent sends an event to another instance, which Key names, or ID if that is zero.
type EventSent struct {
	ID      string
	Key     [16]byte
	Name    string // of the event
	Payload []byte
	Message [16]byte // names the message: the request ID of the event is made of it
}

// Kind implements Body.
func (*EventSent) Kind() Kind { return KindEventSent }

func (e *EventSent) fields(c *codec) {
	c.text(2, &e.ID)
	c.uuid(3, &e.Key)
	c.text(4, &e.Name)
	c.payload(5, &e.Payload)
	c.uuid(6, &e.Message)
}

// CancelSent asks another instance to stop. Its fields are those of EventSent.
type CancelSent struct {
	ID      string
	Key     [16]byte
	Reason  string
	Message [16]byte
}

// Kind implements Body.
func (*CancelSent) Kind() Kind { return KindCancelSent }

func (e *CancelSent) fields(c *codec) {
	c.text(2, &e.ID)
	c.uuid(3, &e.Key)
	c.text(4, &e.Reason)
	c.uuid(5, &e.Message)
}

// ReplyReceived says what became of a DetachedStarted, an EventSent or a CancelSent. It can reach a later execution than the one
// that opened a prefix, so it names the command by its message, too.
type ReplyReceived struct {
	Command int64
	Message [16]byte // of the command; the Key of a DetachedStarted
	Outcome int64    // one of ReplyAccepted and the like
}

// The outcomes of a ReplyReceived. Numbers are part of the stored format.
const (
	ReplyAccepted int64 = iota + 1
	ReplyExists         // the ID is in use
	ReplyGone           // there is no such instance
	ReplyEnded          // the instance has ended
	ReplyFull           // its inbox is full
	ReplyForked         // the command is one of the instance that this one was forked from
	ReplyUnknown        // the reply was lost with the end of the execution that a reset took back
)

// Kind implements Body.
func (*ReplyReceived) Kind() Kind { return KindReplyReceived }

func (e *ReplyReceived) fields(c *codec) {
	c.integer(2, &e.Command)
	c.uuid(3, &e.Message)
	c.integer(4, &e.Outcome)
}

// Ended is the payload of the event that tells of the end of an instance. It is fixed when the instance is started, so it has no outcome.
type Ended struct {
	ID        string `json:"id"`
	Key       string `json:"key"`
	RequestID string `json:"requestId,omitempty"` // that the code chose
}

// EncodeEnded returns the payload.
func EncodeEnded(e Ended) []byte {
	data, _ := json.Marshal(e) //nolint:errchkjson // strings always encode
	return data
}
