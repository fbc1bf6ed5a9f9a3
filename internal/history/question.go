package history

// Question is what a client asks of the code of an instance. It is stored outside the history, until it is answered.
type Question struct {
	Name        string // of the query
	Input       []byte
	Limit       int64    // microseconds that the client waits for the answer
	EvenBlocked bool     // answer from the history of an instance that is blocked
	Rebuild     bool     // answer from an execution that is rebuilt from the history
	After       string   // request ID that the code must have been given; "": none
	Open        *Opening // in place of a query; nil: none
}

func (q *Question) fields(c *codec) {
	c.text(1, &q.Name)
	c.payload(2, &q.Input)
	c.integer(3, &q.Limit)
	c.boolean(4, &q.EvenBlocked)
	c.boolean(5, &q.Rebuild)
	c.text(6, &q.After)
	optional(c, 7, &q.Open)
}

// The outcomes of a question. The numbers are stored.
const (
	Answered        int64 = iota + 1 // Output is the answer
	AnswerFailed                     // the handler returned Failure
	AnswerUnknown                    // there is no handler of that name; Names has the known ones
	AnswerRefused                    // the handler did what none may do, or the node asks it no more; Message says why
	AnswerPanicked                   // Message has the value and the stack
	AnswerTooLarge                   // the answer is over the payload limit
	AnswerTooSlow                    // the handler took too long
	AnswerBlocked                    // the instance is blocked
	AnswerNotBegun                   // its code has not begun
	AnswerNotYet                     // it has not been given the request of After
	AnswerEnded                      // it ended before it was given the request of After
	AnswerNotReplay                  // its history does not replay with the code of the node
)

// Answer is the answer to a Question.
type Answer struct {
	Outcome int64
	Output  []byte
	Failure *Failure
	Message string
	Names   [][]byte
	Blocked *Held
	Opened  *Opened
}

func (a *Answer) fields(c *codec) {
	c.integer(1, &a.Outcome)
	c.payload(2, &a.Output)
	optional(c, 3, &a.Failure)
	c.text(4, &a.Message)
	c.list(5, &a.Names)
	optional(c, 6, &a.Blocked)
	optional(c, 7, &a.Opened)
}

// Held says why an instance is blocked. The times are microseconds UTC.
type Held struct {
	Reason  string
	Message string
	Count   int64
	Since   int64
	RetryAt int64
}

func (h *Held) fields(c *codec) {
	c.text(1, &h.Reason)
	c.text(2, &h.Message)
	c.integer(3, &h.Count)
	c.integer(4, &h.Since)
	c.integer(5, &h.RetryAt)
}

// EncodeQuestion encodes q with the format's version in front.
func EncodeQuestion(q Question) []byte { return appendRecord([]byte{formatVersion}, &q) }

// DecodeQuestion reads what EncodeQuestion wrote. Errors wrap ErrNewer or ErrCorrupt.
func DecodeQuestion(data []byte) (Question, error) {
	var q Question
	return q, decodeVersioned(data, &q)
}

// EncodeAnswer encodes a with the format's version in front.
func EncodeAnswer(a Answer) []byte { return appendRecord([]byte{formatVersion}, &a) }

// DecodeAnswer reads what EncodeAnswer wrote. Errors wrap ErrNewer or ErrCorrupt.
func DecodeAnswer(data []byte) (Answer, error) {
	var a Answer
	return a, decodeVersioned(data, &a)
}
